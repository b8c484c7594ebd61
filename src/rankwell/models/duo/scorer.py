"""duoBERT without torch: tokenise a query and two documents, and predict whether the first is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from rankwell.core import FormatError, ParameterError, RankwellError, fingerprint
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.models.base.export import PAIRS, Export
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.opening import check_threads, open_model, run_all
from rankwell.models.base.tokens import QUERY_TOKENS, Pair, Texts, Tokenizer, Tokens, Truncation
from rankwell.models.reranking.record import RECORD, RankerRecord, read_record
from rankwell.models.reranking.scores import OneLogit

FEWEST = 12  # fewest tokens for a query and two documents
Heads = tuple[list[int], int]  # the kept tokens of a text, and the number of truncated ones
Triple = tuple[str, str, str]  # a query, the document to score, and the one it is compared with


class TripleTokens:
    """Makes `[CLS] q [SEP] d_i [SEP] d_j [SEP]` of triples, in the segments 0, 1 and 2.

    The query keeps its first `query_tokens` tokens (62 by default), and each document at most half of what is then left
    of `max_tokens`: 62 + 2 x 223 + 4 special ones are 512. Budgets and segments are those of Nogueira, Yang, Cho and
    Lin, "Multi-stage document ranking with BERT", 2019 (arXiv 1910.14424) and of its code. BERT is pre-trained with two
    segments: `rankwell train duo` adds a third, initialised as a copy of the second. Models without segments have
    none here either.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, query_tokens: int | None) -> None:
        frame = tokenizer.pair
        special = len(frame) + len(frame.between)
        self.room, self.max_tokens = max_tokens - special, max_tokens
        if self.room < FEWEST:
            raise ParameterError("max_tokens", expected=f"at least {FEWEST + special}", found=max_tokens)
        self.query_tokens = min(QUERY_TOKENS, self.room // 3) if query_tokens is None else query_tokens
        if not 1 <= self.query_tokens <= self.room - 2:
            raise ParameterError("query_tokens", expected=f"a number from 1 to {self.room - 2}", found=query_tokens)
        self.truncated = Truncation()
        self._tokenizer = tokenizer

    def __call__(self, triples: Sequence[Triple]) -> list[Tokens]:
        """The token ids of each triple; each text is tokenised once."""
        queries = self._heads((query for query, _, _ in triples), self.query_tokens)
        documents = self._heads(chain.from_iterable((one, other) for _, one, other in triples), self.document_tokens)
        return [self.join(queries[query], documents[one], documents[other]) for query, one, other in triples]

    @property
    def document_tokens(self) -> int:
        """The most tokens of a document, beside the shortest query."""
        return (self.room - 1) // 2

    def query_heads(self, queries: Sequence[str]) -> list[Heads]:
        """The kept tokens of each query."""
        return self._tokenizer.heads(queries, self.query_tokens)

    def document_heads(self, documents: Sequence[str]) -> list[Heads]:
        """The kept tokens of each document."""
        return self._tokenizer.heads(documents, self.document_tokens)

    def join(self, query: Heads, one: Heads, other: Heads) -> Tokens:
        """Join a triple of tokenised texts."""
        frame, counts = self._tokenizer.pair, self.truncated
        half = (self.room - len(query[0])) // 2
        parts = [query[0], one[0][:half], other[0][:half]]
        dropped = [query[1], *(more + len(ids) - len(ids[:half]) for ids, more in (one, other))]
        counts.texts += 1
        counts.queries_cut += dropped[0] > 0
        counts.documents_cut += sum(more > 0 for more in dropped[1:])
        counts.tokens_dropped += sum(dropped)
        first = [*frame.before, *parts[0], *frame.between]
        second, third = [*parts[1], *frame.between], [*parts[2], *frame.after]
        types = np.repeat([0, frame.second, 2 * frame.second], [len(first), len(second), len(third)])
        return Tokens(np.array(first + second + third, dtype=np.int64), types.astype(np.int64))

    def _heads(self, texts: Iterable[str], budget: int) -> dict[str, Heads]:
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self._tokenizer.heads(unique, budget), strict=True))


DUO = "duo"


class DuoScorer(OneLogit):
    """Scores triples (query, d_i, d_j) with the logit of d_i being more relevant than d_j.

    A `Scorer`: the second text of each pair is two documents, as `compared` makes it.
    """

    def __init__(self, model: str, *, precision: str | None = None, threads: int | None = None) -> None:
        self.model = model
        self._folder = ModelFolder.find(model)
        self._threads = check_threads(threads)
        settings = duo_settings(self._folder)
        tokenizer = Tokenizer(self._folder.tokenizer_file)
        self._folder.check_tokenizer(tokenizer.vocabulary)
        self._tokens = TripleTokens(tokenizer, settings["max_tokens"], settings["query_tokens"])
        self.precision, self._model = open_model(self._folder, Export(PAIRS), precision, None)
        if self._model.use(PAIRS) != 1:
            raise RankwellError(f"{model}: expected a duo model with one logit, found {self._model.use(PAIRS)}")

    @property
    def truncated(self) -> Truncation:
        """How much text was truncated so far."""
        return self._tokens.truncated

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """The logit of each query with two documents, as a row."""
        return self.of_triples([(query, *_two(documents)) for query, documents in pairs], progress)

    def of_triples(self, triples: Sequence[Triple], progress: Progress = SILENT) -> Floats:
        """One logit per triple, as a row."""
        found = run_all(
            triples,
            self._tokens,
            self._model,
            finish=lambda row: row,
            width=1,
            threads=self._threads,
            progress=progress,
        )
        wrong = np.flatnonzero(~np.isfinite(found[:, 0]))
        if len(wrong):
            query, one, other = (text[:60] for text in triples[wrong[0]])
            raise RankwellError(
                f"{self.model}: expected numbers, found {found[wrong[0], 0]} for the query {query!r} and the documents "
                f"{one!r} and {other!r}"
            )
        return found

    def fingerprint(self) -> str:
        """A fingerprint of everything that affects a probability besides the triple."""
        budgets = [self._tokens.max_tokens, self._tokens.query_tokens]
        weights = self._folder.fingerprint(self._model.file)
        return fingerprint([DUO, weights, self._model.backend, self.precision, *budgets])


def _two(documents: Texts) -> tuple[str, str]:
    """Unpack the two compared documents."""
    if isinstance(documents, str) or len(documents) != 2:  # noqa: PLR2004 -- duo
        raise ParameterError("documents", expected="two to compare", found=documents)
    return documents[0], documents[1]


def duo_record(max_tokens: int, query_tokens: int | None) -> RankerRecord:
    """The content of `ranker.json` for a duo model."""
    return RankerRecord(DUO, {"max_tokens": max_tokens, "query_tokens": query_tokens})


def duo_settings(folder: ModelFolder) -> Mapping[str, Any]:
    """The token limits of a model in training, from its record."""
    record = read_record(folder.path)
    if record is None or record.kind != DUO or "max_tokens" not in record.settings:
        expected = f'a ranker of the kind {DUO} with "max_tokens"'
        found = "none" if record is None else str(record)
        raise FormatError(folder.path / RECORD, None, expected=expected, found=found)
    return {"query_tokens": None, **record.settings}


@lru_cache(maxsize=4)
def load_duo(model: str, *, precision: str | None = None, threads: int | None = None) -> DuoScorer:
    """Load a scorer; the same arguments give the same cached object."""
    return DuoScorer(model, precision=precision, threads=threads)
