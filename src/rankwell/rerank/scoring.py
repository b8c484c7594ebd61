"""Scoring pairs, each once: those that were scored before are looked up."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats
from rankwell.core.progress import Progress
from rankwell.encode import Truncation
from rankwell.rerank.score_cache import Pair, ScoreCache
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.tally import Tally

log = logging.getLogger(__name__)

CHUNK = 128  # pairs after which their scores are kept: every few seconds; a scorer may want more `at_once`


class PairScores:
    """A scorer together with the scores that are known already."""

    def __init__(self, scorer: Scorer, cache: ScoreCache | None, tally: Tally, progress: Progress) -> None:
        self._scorer, self._cache, self._tally, self._progress = scorer, cache, tally, progress
        self._chunk = wanted_at_once(scorer, CHUNK)

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The score of each pair."""
        unique = list(dict.fromkeys(pairs))
        known = self._cache.get(unique) if self._cache else {}
        new = [pair for pair in unique if pair not in known]
        self._progress.advance(len(pairs) - len(new))
        self._tally.pairs += len(unique)
        self._tally.kept += len(unique) - len(new)
        for start in range(0, len(new), self._chunk):
            known |= self._score(new[start : start + self._chunk])
        return np.array([known[pair] for pair in pairs], dtype=np.float32)

    def _score(self, pairs: list[Pair]) -> dict[Pair, float]:
        """Score pairs and keep what came out."""
        scores = self._scorer.scores(self._scorer.logits(pairs, self._progress))
        wrong = np.flatnonzero(~np.isfinite(scores))
        if len(wrong):
            query, document = pairs[wrong[0]]
            raise RankwellError(
                f"model: expected finite scores, found {scores[wrong[0]]} for the query {query[:60]!r} "
                f"and the document {document[:60]!r} ({len(wrong):,} of {len(pairs):,} pairs)"
            )
        found = dict(zip(pairs, scores.tolist(), strict=True))
        if self._cache:
            self._cache.add(found)
        return found


def wanted_at_once(scorer: Scorer, usual: int) -> int:
    """How many pairs a scorer is given together: more than usual where many share the work."""
    return int(getattr(scorer, "at_once", usual))


class Cutting(Protocol):
    """A model that counts what it does not see."""

    @property
    def truncated(self) -> Truncation:
        """How much was cut off so far."""


@contextmanager
def reported(scorer: Cutting, tally: Tally) -> Iterator[None]:
    """Take the time, and say at the end how much of the texts the model did not see."""
    started, cut, kept = time.perf_counter(), replace(scorer.truncated), tally.kept
    try:
        yield
    finally:
        tally.seconds += time.perf_counter() - started
    told = cut_since(cut, scorer.truncated)
    if told.documents_cut or told.queries_cut:
        others = f" (not counting {tally.kept - kept:,} scored earlier)" if tally.kept > kept else ""
        log.warning("%s%s", told, others)


def cut_since(before: Truncation, now: Truncation) -> Truncation:
    """What was cut between two counts."""
    return Truncation(
        now.texts - before.texts,
        now.queries_cut - before.queries_cut,
        now.documents_cut - before.documents_cut,
        now.tokens_dropped - before.tokens_dropped,
    )
