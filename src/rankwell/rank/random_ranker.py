"""The random ranker: the floor that every other ranker must be above."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwell.core import ParameterError, Run, Stage
from rankwell.core.arrays import Integers, Strings


@dataclass(frozen=True)
class RandomRanker(Stage):
    """Puts the documents that it is given into a random order: of a first stage that matched them, or `docnos`.

    The order of a query depends on the seed, its id and the set of its documents, not on the order in which queries or
    documents come, so that a query gets the same one alone or among others. Given only queries, each gets `k` of the
    `docnos`, all equally likely. Scores run from 1 down in equal steps.
    """

    seed: int = 0
    docnos: Sequence[str] = ()
    k: int = 1000

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)

    def apply(self, run: Run) -> Run:
        """Shuffle what is there, or draw."""
        if len(run):
            return run.with_scores(np.concatenate([self._shuffled(qid, of.docnos) for qid, of in run.rankings()]))
        known = sorted(set(self.docnos))
        k = min(self.k, len(known))
        drawn = [self._generator(qid).choice(len(known), k, replace=False) for qid in run.qids]
        docnos: Strings = np.array(known, dtype=np.dtypes.StringDType())[np.concatenate([NONE, *drawn])]
        travelling = {"tag": "random", "queries": run.queries, "documents": run.documents}
        offsets = np.arange(len(run.qids) + 1) * k
        return Run.from_columns(run.qids, offsets, docnos, np.tile(falling(k), len(run.qids)), **travelling)

    def _shuffled(self, qid: str, docnos: Strings) -> np.ndarray:
        """New scores for the documents of a query, in the order in which they stand."""
        scores = np.empty(len(docnos))
        by_name = np.argsort(docnos, kind="stable")
        scores[by_name[self._generator(qid).permutation(len(docnos))]] = falling(len(docnos))
        return scores

    def _generator(self, qid: str) -> np.random.Generator:
        digest = hashlib.sha256(f"{self.seed}\0{qid}".encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng(int.from_bytes(digest[:16], "big"))


NONE: Integers = np.zeros(0, dtype=np.int64)


def falling(count: int) -> np.ndarray:
    """As many scores, from 1 down to nearly 0."""
    return 1 - np.arange(count) / max(count, 1)
