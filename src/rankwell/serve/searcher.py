"""The engine behind the API and the page: the open index, the models, and a search in two stages."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import replace
from itertools import chain
from typing import Any

from rankwell.clickhouse import all_vectors_of
from rankwell.core import Document, Queries, RankwellError, Run
from rankwell.encode import find_model
from rankwell.rerank import CrossEncoder, RerankExplanation
from rankwell.serve.compiling import KernelLoader
from rankwell.serve.notes import taken_notes
from rankwell.serve.open_index import OpenIndex
from rankwell.serve.requests import SearchRequest
from rankwell.serve.rerank_queue import RerankQueue
from rankwell.serve.rerank_request import RerankTimeoutError
from rankwell.serve.responses import FIRST, RERANKED, SearchResponse
from rankwell.serve.searching import Found, facets, first_stage, matching, results, second_stage
from rankwell.serve.settings import ServeSettings, public_name

TOO_LATE = "re-ranking was not done in time: these are the results of the first stage"


class Searcher:
    """Searches for requests, from many threads at once.

    response = searcher.first(request)                 # at once
    response = searcher.rerank(request, response)      # when a model has read the top; or both in one:
    response = searcher.search(request)

    Every request stays on the version of the index that it began with.
    """

    def __init__(self, settings: ServeSettings, queue: RerankQueue | None = None) -> None:
        self.settings = settings
        self.indexes = OpenIndex(settings.index)
        self.queue = queue or RerankQueue()
        self._kernels = KernelLoader()

    def check(self) -> None:
        """Refuse models that are not here, or not to be served, at once; `warm_up` finds out whether they can rank."""
        for model in self.settings.rerankers.values():
            find_model(model)
            SearchRequest().rerank_options(model).reranker(self.indexes.current)

    def warm_up(self) -> None:
        """Load kernels and models before anyone waits for them; raises where a re-ranker cannot be used."""
        self._kernels.load()
        if self._kernels.closed:
            return
        for there in all_vectors_of(self.indexes.current):
            with contextlib.suppress(RankwellError):  # told to those who search by these vectors
                self.first(SearchRequest(q="warm up", k=1, dense=True, vectors=there.name))
        for model in self.settings.rerankers.values():
            stage = SearchRequest().rerank_options(model).reranker(self.indexes.current)
            scorer = self.queue.load(stage)
            scorer.scores(scorer.logits([]))  # a model that cannot rank says so here
            self.queue.submit(stage.changed(index=None), _two_documents(), notes=[]).result()

    def refresh(self) -> None:
        """Look for a later commit at once: who has just committed calls this."""
        self.indexes.refresh()

    def close(self) -> None:
        """End what waits for a model, and what is compiled."""
        self._kernels.close()
        self.queue.close()

    def search(self, request: SearchRequest) -> SearchResponse:
        """Both stages; the first one's results, flagged as partial, where the second takes too long."""
        response = self.first(request, shown=request.rerank is None)
        return response if request.rerank is None else self.rerank(request, response)

    def first(self, request: SearchRequest, *, shown: bool = True) -> SearchResponse:
        """The first stage; without results to show where nobody will see them (`rerank` and `too_late` make theirs)."""
        begun = time.perf_counter()
        with taken_notes() as notes:
            found = first_stage(self.indexes.current, request)
            mask = matching(found) if request.total or request.facets else None
            return SearchResponse(
                request.q,
                stage=FIRST,
                results=list(results(found)) if shown else (),
                total=None if mask is None else int(mask.sum()),
                warnings=notes,
                facets={} if mask is None else facets(found, mask),
                commit=found.index.commit,
                found=found,
                took_ms=_since(begun),
            )

    def rerank(self, request: SearchRequest, response: SearchResponse) -> SearchResponse:
        """Re-rank what the first stage found. Raises RerankQueueFullError where too many wait for a model already."""
        begun = time.perf_counter()
        timeout = self.time_left(request, response)
        try:
            run = self.begin_rerank(request, response, timeout).result()
        except (RerankTimeoutError, TimeoutError):
            return self.too_late(response, _since(begun))
        return self.reranked(request, response, run, _since(begun))

    def time_left(self, request: SearchRequest, response: SearchResponse) -> float:
        """Seconds that the second stage may take."""
        return max(0.001, (request.timeout or self.settings.timeout) - response.took_ms / 1000)

    def begin_rerank(self, request: SearchRequest, response: SearchResponse, timeout: float) -> Future[Run]:
        """Put the first stage's run into the queue; the run that a model makes of it."""
        found = _found(response)
        stage = request.rerank_options(self._model(request)).stage(found.index)
        return self.queue.submit(stage, found.runs[found.first - 1][1], timeout, found.notes)

    def reranked(
        self, request: SearchRequest, response: SearchResponse, run: Run, waited_ms: float = 0.0
    ) -> SearchResponse:
        """The response of that run."""
        begun = time.perf_counter()
        found = _found(response)
        stage = request.rerank_options(self._model(request)).reranker(found.index)

        def read(docno: str) -> RerankExplanation | None:
            if not isinstance(stage, CrossEncoder):  # others read a document beside others
                return None
            return self.queue.explain(stage, request.q, found.index.documents[docno], self.settings.timeout).result()

        with taken_notes() as notes:
            again = second_stage(found, request.rerank or "", run, read)
            return replace(
                response,
                stage=RERANKED,
                results=list(results(again)),
                warnings=_joined(response.warnings, found.notes, notes),
                found=again,
                took_ms=response.took_ms + waited_ms + _since(begun),
            )

    def too_late(self, response: SearchResponse, waited_ms: float = 0.0) -> SearchResponse:
        """The first stage's results in place of those that did not come in time."""
        return replace(
            response,
            results=response.results or list(results(_found(response))),
            partial=True,
            warnings=_joined(response.warnings, [TOO_LATE]),
            took_ms=response.took_ms + waited_ms,
        )

    def document(self, docno: str) -> Document | None:
        """A stored document, or None."""
        return self.indexes.current.documents.get(docno)

    def info(self) -> dict[str, Any]:
        """What there is to say about the index and the models; no path of this machine."""
        index = self.indexes.current
        told = {name: value for name, value in index.info().items() if name != "path"}
        vectors = [{**there.info(), "model": public_name(there.model)} for there in all_vectors_of(index)]
        models = {"rerankers": list(self.settings.rerankers), "default_reranker": self.settings.default_reranker}
        return {"name": self.settings.index_name, **told, "vectors": vectors, **models}

    def _model(self, request: SearchRequest) -> str:
        """The operator's word for the model that a request names."""
        return self.settings.rerankers[request.rerank or ""]


def _found(response: SearchResponse) -> Found:
    if response.found is None:
        raise ValueError("expected a response of Searcher.first, found one without what it found")
    return response.found


def _joined(*some: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(some)))


def _two_documents() -> Run:
    """A run that any model can re-rank."""
    documents = {name: Document(name, {"text": name}) for name in ("warm", "up")}
    return Run.from_dict(
        {"warm": dict.fromkeys(documents, 1.0)}, queries=Queries.of({"warm": "up"}), documents=documents
    )


def _since(begun: float) -> float:
    return 1000 * (time.perf_counter() - begun)
