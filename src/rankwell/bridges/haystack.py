"""Haystack: a pipeline as a retriever component, a re-ranker as a ranker component."""

from __future__ import annotations

from typing import Any

from rankwell.bridges.hits import check_reranker, find, rescore
from rankwell.core import MissingExtraError, Stage

try:
    from haystack import Document, component
except ImportError as error:
    raise MissingExtraError("the bridge to Haystack", extra="haystack") from error


@component
class RankwellRetriever:
    """A pipeline as a Haystack retriever.

    `top_k` is the number of documents, `document` a template for their texts, such as `{title} {abstract}` (default:
    all fields).

        RankwellRetriever(BM25("papers"), top_k=5).run(query="fever in children")["documents"]
    """

    def __init__(self, stage: Stage, top_k: int = 10, document: str | None = None) -> None:
        self.stage, self.top_k, self.document = stage, top_k, document

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """The best documents for a query."""
        hits = find(self.stage, query, top_k or self.top_k, self.document)
        documents = [Document(id=hit.id, content=hit.text, meta=dict(hit.metadata), score=hit.score) for hit in hits]
        return {"documents": documents}


@component
class RankwellRanker:
    """A re-ranker as a Haystack ranker: documents in a new order, with new scores, cut to `top_k`.

    RankwellRanker(CrossEncoder("ms-marco-minilm-l12"), top_k=3)
    """

    def __init__(self, stage: Stage, top_k: int | None = None) -> None:
        check_reranker(stage)
        self.stage, self.top_k = stage, top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, Any]:
        """The documents, best first."""
        texts = [document.content or "" for document in documents]
        scored = rescore(self.stage, query, texts) if documents else []
        kept = scored[: top_k or self.top_k]
        return {"documents": [_with_score(documents[place], score) for place, score in kept]}


def _with_score(document: Document, score: float) -> Document:
    from dataclasses import replace

    return replace(document, score=score)
