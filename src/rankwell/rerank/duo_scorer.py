"""duoBERT: which of two documents is more relevant to a query."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rankwell.core import FormatError, RankwellError, fingerprint
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.core.scales import sigmoid
from rankwell.encode.export import PAIRS, Export
from rankwell.encode.folder import ModelFolder
from rankwell.encode.opening import open_model
from rankwell.encode.tokens import Tokenizer, Truncation
from rankwell.encode.working import check_threads, run_all
from rankwell.rerank.duo_tokens import Triple, TripleTokens
from rankwell.rerank.ranker_record import RECORD, RankerRecord, read_record

DUO = "duo"


class DuoScorer:
    """Gives triples (query, d_i, d_j) the logit of d_i being more relevant than d_j, of a folder's model.

    A `Scorer`: of each pair the second text is two documents, as `compared` makes it.
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
        """What was cut off so far."""
        return self._tokens.truncated

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        """A row of one number a pair."""
        return self.of_triples([(query, *json.loads(two)) for query, two in pairs], progress)

    def of_triples(self, triples: Sequence[Triple], progress: Progress = SILENT) -> Floats:
        """A row of one number a triple."""
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

    def scores(self, logits: Floats) -> Floats:
        """The logit."""
        return logits[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        """Its sigmoid."""
        return sigmoid(scores).astype(np.float32)

    def fingerprint(self) -> str:
        """Over everything that a probability depends on besides the triple."""
        budgets = [self._tokens.max_tokens, self._tokens.query_tokens]
        weights = self._folder.fingerprint(self._model.file)
        return fingerprint([DUO, weights, self._model.backend, self.precision, *budgets])


def compared(query: str, one: str, other: str) -> tuple[str, str]:
    """A triple as a pair, so that it waits, travels and is counted as any other."""
    return query, json.dumps([one, other])


def duo_record(max_tokens: int, query_tokens: int | None) -> RankerRecord:
    """What `ranker.json` says of a duo model."""
    return RankerRecord(DUO, {"max_tokens": max_tokens, "query_tokens": query_tokens})


def duo_settings(folder: ModelFolder) -> Mapping[str, Any]:
    """The budgets that a model was trained with, from its record."""
    record = read_record(folder.path)
    if record is None or record.kind != DUO or "max_tokens" not in record.settings:
        expected = f'a ranker of the kind {DUO} with "max_tokens"'
        found = "none" if record is None else str(record)
        raise FormatError(folder.path / RECORD, None, expected=expected, found=found)
    return {"query_tokens": None, **record.settings}


@lru_cache(maxsize=4)
def load_duo(model: str, *, precision: str | None = None, threads: int | None = None) -> DuoScorer:
    """A scorer that stays loaded: the same arguments give the same object."""
    return DuoScorer(model, precision=precision, threads=threads)
