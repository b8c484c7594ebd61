"""duoBERT as a re-ranker, without torch: compare the top documents in pairs, and combine the comparisons."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from rankwell.core import SILENT, Booleans, Floats, Progress, Run, Values, sigmoid
from rankwell.core.errors import FormatError, ParameterError, RankwellError
from rankwell.core.parameters import Whole, like, param
from rankwell.models.base.device import loaded_once
from rankwell.models.base.encoders import OneLogit, Transformer
from rankwell.models.base.folder import RANKER_RECORD, ModelFolder, RankerRecord
from rankwell.models.base.loading import loads_model
from rankwell.models.base.tokens import QUERY_TOKENS, Pair, Texts, Tokenizer, Tokens, Truncation, as_text
from rankwell.models.reranking.reranker import DUO_DEPTH, BlockScores, Candidate, Candidates, Reranker, RerankSettings
from rankwell.models.reranking.scores import PairScores, Scorer

log = logging.getLogger(__name__)

DUO = "duo"
FEWEST = 12  # fewest tokens for a query and two documents
EVEN = 0.5
SAMPLE = "sample:"
EXPECTED = "sum, binary, min, max, or sample:M (the sum over M others, drawn by lot)"
ALONE = ("passages", "aggregate_as", "scores", "max_tokens", "query_tokens")  # settings that a duo model does not have

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
        queries = self.heads((query for query, _, _ in triples), self.query_tokens)
        documents = self.heads(chain.from_iterable((one, other) for _, one, other in triples), self.document_tokens)
        return [self.join(queries[query], documents[one], documents[other]) for query, one, other in triples]

    @property
    def document_tokens(self) -> int:
        """The most tokens of a document, beside the shortest query."""
        return (self.room - 1) // 2

    def join(self, query: Heads, one: Heads, other: Heads) -> Tokens:
        """Join a triple of tokenised texts."""
        frame = self._tokenizer.pair
        half = (self.room - len(query[0])) // 2
        parts = [query[0], one[0][:half], other[0][:half]]
        self.truncated.count(query[1], *(more + len(ids) - len(ids[:half]) for ids, more in (one, other)))
        first = [*frame.before, *parts[0], *frame.between]
        second, third = [*parts[1], *frame.between], [*parts[2], *frame.after]
        types = np.repeat([0, frame.second, 2 * frame.second], [len(first), len(second), len(third)])
        return Tokens(np.array(first + second + third, dtype=np.int64), types.astype(np.int64))

    def heads(self, texts: Iterable[str], budget: int) -> dict[str, Heads]:
        """The kept tokens of each different text."""
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self._tokenizer.heads(unique, budget), strict=True))


class DuoScorer(OneLogit, Transformer):
    """Scores triples (query, d_i, d_j) with the logit of d_i being more relevant than d_j.

    A `Scorer`: the second text of each pair is a tuple of two documents.
    """

    @loads_model
    def __init__(self, model: str, *, precision: str | None = None, threads: int | None = None) -> None:
        super().__init__(model, threads)
        settings = duo_settings(self._folder)
        self._tokens = TripleTokens(self._folder.load_tokenizer(), settings["max_tokens"], settings["query_tokens"])
        labels = self._open_pairs(precision)
        if labels != 1:
            raise RankwellError(f"{model}: expected a duo model with one logit, found {labels}")

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """The logit of each query with two documents, as a row."""
        return self.of_triples([(query, *_two(documents)) for query, documents in pairs], progress)

    def of_triples(self, triples: Sequence[Triple], progress: Progress = SILENT) -> Floats:
        """One logit per triple, as a row."""
        rows = self._rows(triples, progress)
        wrong = np.flatnonzero(~np.isfinite(rows[:, 0]))
        if len(wrong):
            query, one, other = (text[:60] for text in triples[wrong[0]])
            raise RankwellError(
                f"{self.model}: expected numbers, found {rows[wrong[0], 0]} for the query {query!r} and the documents "
                f"{one!r} and {other!r}"
            )
        return rows

    def fingerprint(self) -> str:
        """A fingerprint of everything that affects a probability besides the triple."""
        return self._fingerprint(DUO, self._tokens.max_tokens, self._tokens.query_tokens)


load_duo = loaded_once(DuoScorer)


def _two(documents: Texts) -> tuple[str, str]:
    if isinstance(documents, str) or len(documents) != 2:  # noqa: PLR2004 -- duo
        raise ParameterError("documents", expected="two to compare", found=documents)
    return documents[0], documents[1]


def duo_settings(folder: ModelFolder) -> Mapping[str, Any]:
    """The token limits of a model in training, from its record."""
    record = folder.record
    if record is None or record.kind != DUO or "max_tokens" not in record.settings:
        expected = f'a ranker of the kind {DUO} with "max_tokens"'
        found = "none" if record is None else str(record)
        raise FormatError(folder.path / RANKER_RECORD, None, expected=expected, found=found)
    return {"query_tokens": None, **record.settings}


@dataclass(frozen=True)
class DuoAggregate:
    """A way to combine a document's comparisons into one score.

    `scores(chances, against)`: the score of each document; `chances[i, j]` is valid where `against[i, j]`. `sample`:
    the number of other documents that each is compared with, drawn by lot; None for all.
    """

    scores: Callable[[Values, Booleans], Values]
    sample: int | None = None

    def against(self, count: int, lots: np.random.Generator) -> Booleans:
        """Booleans of the comparisons of a query's documents: [i, j] where p_ij is needed."""
        return ~np.eye(count, dtype=bool) if self.sample is None else draw_others(count, self.sample, lots)

    def inferences(self, count: int) -> int:
        """Number of comparisons of `count` documents."""
        others = max(count - 1, 0)
        return count * (others if self.sample is None else min(self.sample, others))


def draw_others(count: int, most: int, lots: np.random.Generator) -> Booleans:
    """For each of `count` documents `most` others, drawn without replacement, or all where there are fewer."""
    drawn = np.zeros((count, count), dtype=bool)
    for place in range(count):
        others = np.delete(np.arange(count), place)
        drawn[place, lots.permutation(others)[:most]] = True
    return drawn


def _sum(chances: Values, against: Booleans) -> Values:
    total: Values = np.where(against, chances, 0).sum(axis=1)
    return total


def _minimum(chances: Values, against: Booleans) -> Values:
    least = np.where(against, chances, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, 0)  # 0 without others


# s_i = sum over j of p_ij; number of j with p_ij > 0.5; min over j of p_ij; max over j of p_ij
DUO_AGGREGATES: Mapping[str, DuoAggregate] = {
    "sum": DuoAggregate(_sum),
    "binary": DuoAggregate(lambda chances, against: (against & (chances > EVEN)).sum(axis=1).astype(np.float64)),
    "min": DuoAggregate(_minimum),
    "max": DuoAggregate(lambda chances, against: np.where(against, chances, 0).max(axis=1, initial=0)),
}


def duo_aggregate(name: str) -> DuoAggregate:
    """Parse `sum`, `binary`, `min`, `max`, or `sample:10`: the sum over 10 others."""
    count = name.removeprefix(SAMPLE)
    if name.startswith(SAMPLE) and count.isdecimal() and int(count) > 0:
        return DuoAggregate(_sum, int(count))
    if name not in DUO_AGGREGATES:
        raise ParameterError("aggregate", expected=EXPECTED, found=name)
    return DUO_AGGREGATES[name]


@dataclass(frozen=True)
class Duo(Reranker):
    """Compares the k best documents of each query two by two, `[CLS] q [SEP] d_i [SEP] d_j [SEP]`, in both orders.

    A document's score combines its comparisons: `sum`, `binary`, `min`, `max` or `sample:M` (see
    `DUO_AGGREGATES`). It follows a re-ranker that reads one document at a time, and re-ranks few of its best:
    k0 documents for that one and k1 for this one cost k0 + k1 (k1 - 1) inferences a query. Documents below k stay
    below, and so do documents without text.

    A score depends on all documents of its query and is never cached. `seed` is for the samples of `sample:M`, which
    are the same for a query whatever others are ranked.

    Nogueira, Yang, Cho and Lin, "Multi-stage document ranking with BERT", 2019.

    >>> BM25(index) >> CrossEncoder("ms-marco-minilm-l12") >> Duo("run/model", k=10)
    """

    keeps_scores: ClassVar[bool] = False
    of_scorer: ClassVar[tuple[str, ...]] = ("precision",)

    k: int = like(RerankSettings, "k", default=DUO_DEPTH)
    aggregate: str = like(RerankSettings, "aggregate", default="sum")
    seed: int = param(42, "Random seed for the comparisons that sample:M draws.", Whole())
    precision: str | None = like(RerankSettings, "precision")

    def __post_init__(self) -> None:
        super().__post_init__()
        duo_aggregate(self.aggregate)

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        return self._loaded(load_duo, precision=self.precision)

    def inferences(self, run: Run) -> int:
        """Number of comparisons for the run, if all its documents have a text."""
        aggregate = duo_aggregate(self.aggregate)
        return sum(aggregate.inferences(min(int(count), self.k)) for count in np.diff(run.offsets))

    def _progress(self, run: Run, candidates: Candidates) -> Progress:  # noqa: ARG002 -- of other kinds
        count = self.inferences(run)
        if not self.quiet:
            log.warning("%s: %s comparisons for %s queries", self.name, f"{count:,}", f"{len(run.qids):,}")
        return Progress(f"comparing ({self.name})", unit="comparisons", total=count, quiet=self.quiet)

    def _scoring(self, run: Run, candidates: Candidates) -> BlockScores:  # noqa: ARG002 -- of other kinds
        def scores_of(block: list[Candidate], score: PairScores) -> Values:
            return np.concatenate([self._scores(qid, some, score) for qid, some in by_query(run, block)])

        return scores_of

    def _scores(self, qid: str, some: list[Candidate], score: PairScores) -> Values:
        """The scores of one query's documents; all comparisons are made at once, and none is kept."""
        aggregate = duo_aggregate(self.aggregate)
        lots = np.random.default_rng([self.seed, zlib.crc32(qid.encode())])
        against = aggregate.against(len(some), lots)
        both = np.argwhere(against).tolist()
        pairs = [(some[i].query, (as_text(some[i].texts[0]), as_text(some[j].texts[0]))) for i, j in both]
        chances = np.zeros(against.shape)
        chances[against] = sigmoid(score.scorer.scores(score.scorer.logits(pairs, score.progress)))
        self.tally.pairs += len(pairs)
        return aggregate.scores(chances, against)


def by_query(run: Run, block: list[Candidate]) -> Iterator[tuple[str, list[Candidate]]]:
    """The candidates of each query of a block, in their order."""
    places = np.searchsorted(run.offsets, [candidate.row for candidate in block], side="right") - 1
    for place in dict.fromkeys(places.tolist()):
        yield run.qids[place], [block[number] for number in np.flatnonzero(places == place)]


def duo_stage(model: str, record: RankerRecord, settings: RerankSettings) -> Duo:  # noqa: ARG001 -- the scorer reads it
    """The re-ranking stage of a folder."""
    settings.refuse(*ALONE, because=f"{model} compares whole documents two by two")
    return settings.stage(Duo, model)
