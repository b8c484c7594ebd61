"""LlamaIndex: a pipeline as a retriever, a re-ranker as a node postprocessor."""

from __future__ import annotations

from typing import Any

from rankwell.bridges.hits import check_reranker, find, rescore
from rankwell.core import MissingExtraError, Stage

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
    from pydantic import ConfigDict
except ImportError as error:
    raise MissingExtraError("the bridge to LlamaIndex", extra="llama-index") from error


class RankwellRetriever(BaseRetriever):
    """A pipeline as a LlamaIndex retriever.

    `k` is the number of nodes, `document` a template for their texts, such as `{title} {abstract}` (default: all
    fields).

        RankwellRetriever(BM25("papers"), k=5).retrieve("fever in children")
    """

    def __init__(self, stage: Stage, k: int = 10, document: str | None = None, **others: Any) -> None:
        super().__init__(**others)
        self.stage, self.k, self.document = stage, k, document

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = find(self.stage, query_bundle.query_str, self.k, self.document)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.id,
                    text=hit.text,
                    metadata=dict(hit.metadata),
                    # the text has them already
                    excluded_llm_metadata_keys=list(hit.metadata),
                    excluded_embed_metadata_keys=list(hit.metadata),
                ),
                score=hit.score,
            )
            for hit in hits
        ]


class RankwellReranker(BaseNodePostprocessor):
    """A re-ranker as a node postprocessor: nodes in a new order, with new scores, cut to `top_n`.

    RankwellReranker(stage=CrossEncoder("ms-marco-minilm-l12"), top_n=3)
    """

    stage: Stage
    top_n: int | None = None

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a re-ranker with an index of its own."""
        super().model_post_init(context)
        check_reranker(self.stage)

    @classmethod
    def class_name(cls) -> str:
        """The name in LlamaIndex's records."""
        return "RankwellReranker"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("RankwellReranker: expected a query (query_bundle or query_str), found none")
        texts = [node.node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        scored = rescore(self.stage, query_bundle.query_str, texts) if nodes else []
        return [NodeWithScore(node=nodes[place].node, score=score) for place, score in scored[: self.top_n]]
