"""What all bridges share: the documents that a pipeline finds, and texts of others re-ranked by a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwell.core import Document, ParameterError, Queries, RankwellError, Run, Stage, Template

QID = "1"  # the only query of its run


@dataclass(frozen=True)
class Hit:
    """A document that was found: `text` is what a reader or a language model gets."""

    id: str
    score: float
    text: str
    metadata: Mapping[str, Any]


def find(stage: Stage, words: str, k: int, document: str | None = None) -> list[Hit]:
    """The k best documents of a pipeline for a query.

    `document` is a template for their texts, such as `{title} {abstract}` (default: all fields). The metadata has the
    fields, too.
    """
    run = stage(words).top(k)
    documents = run.documents
    if documents is None:
        raise RankwellError("pipeline: expected a first stage over an index, which has the texts, found none")
    template = None if document is None else Template(document)
    return [_hit(documents[docno], score, template) for docno, score in run[QID]]


def _hit(document: Document, score: float, template: Template | None) -> Hit:
    text = document.text() if template is None else template.fill(document)
    return Hit(document.id, score, text, {**document.fields, **document.metadata})


def rescore(stage: Stage, words: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Re-rank texts for a query: their places in the list, best first, each with its new score.

    `stage` reads the texts (a re-ranker without an index of its own).
    """
    documents = {str(place): Document(str(place), {"text": text}) for place, text in enumerate(texts)}
    before = {docno: 1.0 / (rank + 1) for rank, docno in enumerate(documents)}
    run = stage(Run.from_dict({QID: before}, queries=Queries.of(words), documents=documents))
    return [(int(docno), score) for docno, score in run[QID]]


def check_reranker(stage: Stage) -> None:
    """Refuse a re-ranker that would look the texts of others up in its own index."""
    for step in stage.stages:
        if getattr(step, "index", None) is not None:
            found = f"{type(step).__name__} over an index"
            raise ParameterError(
                "stage", expected="a re-ranker without an index: it reads the given texts", found=found
            )
