"""A scorer whose scores are known by heart, which works only while its gate is open and remembers what it saw."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import numpy as np

from rankwell.core import Document, Queries, Run
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.models.base import Truncation

BAD = "poison"  # a document that no model can read


class GatedScorer:
    """logit = length of the document. `slices` are the calls that it got."""

    def __init__(self, *, opened: bool = True) -> None:
        self.truncated = Truncation()
        self.slices: list[list[tuple[str, str]]] = []
        self.began, self.gate = Event(), Event()
        if opened:
            self.gate.set()

    @property
    def seen(self) -> list[tuple[str, str]]:
        return [pair for pairs in self.slices for pair in pairs]

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        if pairs:
            self.slices.append(list(pairs))
            self.began.set()
            assert self.gate.wait(60)
        if any(document == BAD for _, document in pairs):
            raise ValueError("this model reads no poison")
        self.truncated.texts += len(pairs)
        progress.advance(len(pairs))
        return np.array([[len(document)] for _, document in pairs], dtype=np.float32).reshape(-1, 1)

    def scores(self, logits: Floats) -> Floats:
        return logits[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        return (1 / (1 + np.exp(-scores.astype(np.float64)))).astype(np.float32)

    def fingerprint(self) -> str:
        return "length"


def a_run(texts: Sequence[str], query: str = "fever") -> Run:
    """One query with these documents, the first one best."""
    documents = {f"d{place}": Document(f"d{place}", {"text": text}) for place, text in enumerate(texts)}
    scores = {docno: float(len(texts) - place) for place, docno in enumerate(documents)}
    return Run.from_dict({"1": scores}, queries=Queries.of(query), documents=documents, tag="first")


def numbered(count: int, name: str) -> list[str]:
    """So many documents that nobody else has."""
    return [f"{name} {number} " + "x" * number for number in range(count)]
