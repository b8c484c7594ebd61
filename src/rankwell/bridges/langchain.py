"""LangChain: a pipeline as a retriever."""

from __future__ import annotations

from typing import Any

from rankwell.bridges.hits import find
from rankwell.core import MissingExtraError, Stage

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict
except ImportError as error:
    raise MissingExtraError("the bridge to LangChain", extra="langchain") from error


class RankwellRetriever(BaseRetriever):
    """A pipeline as a LangChain retriever.

    `k` is the number of documents, `document` a template for their texts, such as `{title} {abstract}` (default: all
    fields). A document's metadata has its score, its fields and its metadata in the index.

        RankwellRetriever(stage=BM25("papers"), k=5).invoke("fever in children")
    """

    stage: Stage
    k: int = 10
    document: str | None = None

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 -- LangChain's signature
        **_: Any,
    ) -> list[Document]:
        return [
            Document(id=hit.id, page_content=hit.text, metadata={**hit.metadata, "id": hit.id, "score": hit.score})
            for hit in find(self.stage, query, self.k, self.document)
        ]
