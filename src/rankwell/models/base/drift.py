"""Compare an int8 model with its fp32 original in scores, speed and size."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.models.base.export import PAIRS
from rankwell.models.base.folder import FP32, INT8
from rankwell.models.base.pairs import PairScorer
from rankwell.models.base.texts import TextEncoder

QUERIES = (
    "how long does a cold last",
    "what lowers high blood pressure",
    "who built the first telescope",
    "do bees sleep at night",
)
DOCUMENTS = (
    "Most colds are over after a week to ten days; a cough may stay for three weeks.",
    "A cold begins with a sore throat, followed by a runny nose and sneezing.",
    "The coldest month of the year in this valley is January, with frost on most nights.",
    "Less salt, regular exercise and losing weight lower the pressure of the blood in many patients.",
    "Blood is pumped through the body by the heart, about five litres a minute at rest.",
    "Drugs such as diuretics are given where a change of diet did not lower the blood pressure enough.",
    "Spectacle makers in the Netherlands asked for a patent on a telescope in 1608.",
    "The observatory on the mountain has a telescope with a mirror of eight metres.",
    "Galileo improved the instrument and saw four moons that go round Jupiter.",
    "Honey bees rest for five to eight hours, mostly at night, with their antennae hanging down.",
    "A hive holds up to sixty thousand bees in summer, and far fewer in winter.",
    "Bats hunt at night and find insects by the echo of their own calls.",
)


@dataclass(frozen=True)
class Drift:
    """How an int8 model compares with its fp32 original on a few sentences."""

    megabytes_fp32: float
    megabytes: float
    seconds_fp32: float
    seconds: float
    tau: float  # Kendall's, of the documents' order, averaged over the queries
    largest: float  # difference of a logit, or of a cosine


def measure_drift(model: str, int8: str, task: str) -> Drift:
    """Run the same sentences through a model in fp32 and through its int8 copy."""
    scores, seconds, sizes = [], [], []
    for name, precision in ((model, FP32), (int8, INT8)):
        scorer = PairScorer(name, precision=precision) if task == PAIRS else TextEncoder(name, precision=precision)
        _scores(scorer)  # the first call warms up
        begin = time.perf_counter()
        scores.append(_scores(scorer))
        seconds.append(time.perf_counter() - begin)
        sizes.append(scorer.megabytes)
    tau = float(np.mean([kendall_tau(*rows) for rows in zip(*scores, strict=True)]))
    largest = float(np.abs(scores[0] - scores[1]).max())
    return Drift(sizes[0], sizes[1], seconds[0], seconds[1], tau, largest)


def kendall_tau(one: Floats, other: Floats) -> float:
    """Kendall's tau-a: (pairs in the same order - pairs in the other order) / all pairs."""
    signs = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    return float(signs[np.triu_indices(len(one), 1)].mean())


def _scores(scorer: PairScorer | TextEncoder) -> Floats:
    """Scores of queries x documents: logits, or cosines."""
    if isinstance(scorer, TextEncoder):
        return scorer.encode_queries(QUERIES) @ scorer.encode(DOCUMENTS).T
    pairs = [(query, document) for query in QUERIES for document in DOCUMENTS]
    return scorer.logits(pairs)[:, -1].reshape(len(QUERIES), len(DOCUMENTS))
