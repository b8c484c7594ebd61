"""What a cross-encoder stage needs of a model; `rankwell.encode.PairScorer` is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.encode import Truncation


@runtime_checkable
class Scorer(Protocol):
    """Scores pairs of query and document. The score of a pair depends on nothing else."""

    @property
    def truncated(self) -> Truncation:
        """How much was cut off so far."""

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        """A row for each pair."""

    def scores(self, logits: Floats) -> Floats:
        """One number a pair to rank by."""

    def probabilities(self, scores: Floats) -> Floats:
        """The same as probabilities of relevance."""

    def fingerprint(self) -> str:
        """A name that no other model or configuration has."""
