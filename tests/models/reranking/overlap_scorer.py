"""A scorer simple enough to know every score by heart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankwell.core import Document, Queries, Run
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.models.base import Truncation


@dataclass
class Overlap:
    """logit = words of the document that the query has, less 2; reads the first `longest` words."""

    longest: int = 1000
    name: str = "overlap"
    truncated: Truncation = field(default_factory=Truncation)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        self.seen += pairs
        self.truncated.texts += len(pairs)
        self.truncated.documents_cut += sum(len(document.split()) > self.longest for _, document in pairs)
        progress.advance(len(pairs))
        return np.array([[self._logit(*pair)] for pair in pairs], dtype=np.float32).reshape(-1, 1)

    def _logit(self, query: str, document: str) -> float:
        wanted = set(query.split())
        return sum(word in wanted for word in document.split()[: self.longest]) - 2.0

    def scores(self, logits: Floats) -> Floats:
        return logits[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        return (1 / (1 + np.exp(-scores.astype(np.float64)))).astype(np.float32)

    def fingerprint(self) -> str:
        return f"{self.name}-{self.longest}"


def a_run(texts: dict[str, str | dict[str, str]], query: str = "fever cough") -> Run:
    """One query with these documents, the first one best."""
    documents = {
        docno: Document(docno, {"text": text} if isinstance(text, str) else text) for docno, text in texts.items()
    }
    scores = {docno: float(len(texts) - place) for place, docno in enumerate(texts)}
    return Run.from_dict({"1": scores}, queries=Queries.of(query), documents=documents, tag="first")
