"""Speed and size of models: a student beside its teacher."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rankwell.models.base import PairScorer
from rankwell.models.base.folder import FP32, ModelFolder
from rankwell.models.learning.pairs import Pairs

PAIRS, ROUNDS = 64, 5


@dataclass(frozen=True)
class Speed:
    """A model's speed in pairs per second, and the megabytes of its weights."""

    model: str
    precision: str
    pairs_a_second: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.model}: {self.pairs_a_second:,.0f} pairs/s, {self.megabytes:,.0f} MB ({self.precision})"


def compare_speed(
    models: Sequence[str], pairs: Pairs, *, count: int = PAIRS, rounds: int = ROUNDS, threads: int | None = None
) -> list[Speed]:
    """The median of several rounds, in which the models take turns, so that other load affects all alike.

    Each scores the same sample of the given pairs, with ONNX Runtime in fp32 where possible.
    """
    some = pairs.take(range(0, len(pairs), max(1, len(pairs) // count)))
    texts = list(some.texts())[:count]
    scorers = [_scorer(model, threads) for model in models]
    for scorer in scorers:
        scorer.logits(texts[:8])  # the first call is slower
    seconds: list[list[float]] = [[] for _ in scorers]
    for _ in range(rounds):
        for scorer, taken in zip(scorers, seconds, strict=True):
            begin = time.perf_counter()
            scorer.logits(texts)
            taken.append(time.perf_counter() - begin)
    return [
        Speed(scorer.model, scorer.precision, len(texts) / statistics.median(taken), scorer.megabytes)
        for scorer, taken in zip(scorers, seconds, strict=True)
    ]


def _scorer(model: str, threads: int | None) -> PairScorer:
    whole = ModelFolder.find(model).torch_weights is not None
    return PairScorer(model, precision=FP32 if whole else None, threads=threads)
