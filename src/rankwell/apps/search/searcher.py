"""The search engine behind the API and the page: the open index, the models, and two-stage search."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from rankwell.apps.search.index import OpenIndex
from rankwell.apps.search.process import KernelLoader
from rankwell.apps.search.requests import SearchRequest
from rankwell.apps.search.rerank_queue import RerankQueue, RerankTimeoutError
from rankwell.apps.search.responses import FIRST, RERANKED, Result, SearchResponse, snippets, taken_notes
from rankwell.apps.search.settings import ServeSettings, public_name
from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.index import Mask, RangeFacet, SearchIndex, ValueFacet
from rankwell.models.base import find_model
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import RerankExplanation
from rankwell.pipelines import QID, Explanation, RankerOptions, explained, first_runs, parse_weights
from rankwell.retrieve import Asked, filtered, matched, parse_match
from rankwell.vectors import all_vectors_of

logger = logging.getLogger(__name__)

MOST_SNIPPETS = 100  # most results of a response with a snippet
MOST_TEXT = 8_000_000  # most characters of stored fields in a response
MOST_VALUES = 50  # most values of a facet

Read = Callable[[str], RerankExplanation | None]


@dataclass(frozen=True, eq=False)
class SearchState:
    """A search after its latest stage, on the version of the index that it began with.

    `runs` are the runs of each stage by its name; `read` gives the passages of a document that a model read;
    `notes` are the warnings of the second stage.
    """

    index: SearchIndex
    request: SearchRequest
    options: RankerOptions
    runs: list[tuple[str, Run]]
    first: int  # number of runs of the first stage
    read: Read | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def asked(self) -> str:
        """The query as plain words."""
        return parse_match(self.request.match).words(self.request.q)

    @cached_property
    def first_ranks(self) -> Mapping[str, int]:
        """The rank of each document after the first stage."""
        docnos = self.runs[self.first - 1][1][QID].docnos.tolist()
        return {docno: rank for rank, docno in enumerate(docnos, 1)}

    @property
    def reranked(self) -> bool:
        """Whether a model has re-ranked the top."""
        return self.read is not None

    def why(self, docno: str) -> Explanation:
        """Explain the rank of a document."""
        read = None if self.read is None else self.read(docno)
        return explained(self.index, self.options, self.runs, docno, asked=self.asked, read=read)


def first_stage(index: SearchIndex, request: SearchRequest) -> SearchState:
    """Rank by words, by embeddings or by both."""
    options = request.first_options()
    runs = first_runs(index, options, request.q)
    return SearchState(index, request, options, runs, len(runs))


def second_stage(found: SearchState, name: str, run: Run, read: Read) -> SearchState:
    """Add the run of the model of that name to a search."""
    return replace(found, runs=[*found.runs[: found.first], (name, run)], read=read)


def results(found: SearchState) -> Iterator[Result]:
    """The requested results with their texts."""
    request, index = found.request, found.index
    terms = set(index.analyzer(found.asked)) if request.snippets else set()
    wanted = request.fields
    left = MOST_TEXT
    ranking = list(found.runs[-1][1][QID])[request.offset : request.last]
    bare = wanted == () and not request.snippets
    for place, (docno, score) in enumerate(ranking):
        rank = request.offset + place + 1
        first = found.first_ranks.get(docno) if found.reranked else rank
        moved = first - rank if found.reranked and first is not None else None
        why = found.why(docno) if request.explain else None
        if bare:
            yield Result(docno, rank, score, first, moved, explain=why)
            continue
        stored = index.documents[docno]
        texts = stored.fields if wanted is None else {n: stored.fields[n] for n in wanted if n in stored.fields}
        before, left = left, left - sum(map(len, texts.values()))
        if left < 0 <= before:
            logger.warning("texts are left out from rank %d on: all together they are too long for one answer", rank)
        passage = snippets(stored.fields, terms, index) if request.snippets and place < MOST_SNIPPETS else {}
        yield Result(docno, rank, score, first, moved, texts if left >= 0 else {}, stored.metadata, passage, why)


def matching(found: SearchState) -> Mask:
    """Mask of the documents that match the query and the filter; a search by embeddings alone matches all."""
    request, index = found.request, found.index
    fields = tuple(parse_weights(request.weights) or ("",))
    everything = request.dense and request.match == "or"
    mask = index.live if everything else matched(request.match, Asked(request.q, fields), index)
    return mask if request.filter is None else mask & filtered(request.filter, index)


def facets(found: SearchState, mask: Mask) -> dict[str, ValueFacet | RangeFacet]:
    """Facet counts of the matching documents for the requested columns."""
    columns = found.index.columns
    for name in found.request.facets:
        if name not in columns:
            known = f"one of {', '.join(columns)}" if columns else "none: the index keeps no metadata"
            raise ParameterError("facets", expected=known, found=name)
    return {name: columns[name].facet(mask, MOST_VALUES) for name in found.request.facets}


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
        """Refuse models that are missing or not served, at once; `warm_up` checks whether they can rank."""
        for model in self.settings.rerankers.values():
            find_model(model)
            SearchRequest().rerank_options(model).reranker(self.indexes.current)

    def warm_up(self) -> None:
        """Load kernels and models before the first request; raises where a re-ranker cannot be used."""
        self._kernels.load()
        if self._kernels.closed:
            return
        for there in all_vectors_of(self.indexes.current):
            with contextlib.suppress(RankwellError):  # reported to requests that search these vectors
                self.first(SearchRequest(q="warm up", k=1, dense=True, vectors=there.name))
        for model in self.settings.rerankers.values():
            stage = SearchRequest().rerank_options(model).reranker(self.indexes.current)
            scorer = self.queue.load(stage)
            scorer.scores(scorer.logits([]))  # raises for a model that cannot rank
            self.queue.submit(stage.changed(index=None), _two_documents(), notes=[]).result()

    def refresh(self) -> None:
        """Check for a later commit now; called after the server's own commits."""
        self.indexes.refresh()

    def close(self) -> None:
        """Cancel waiting re-ranking and running compilation."""
        self._kernels.close()
        self.queue.close()

    def search(self, request: SearchRequest) -> SearchResponse:
        """Both stages; the first stage's results, flagged as partial, where the second takes too long."""
        response = self.first(request, shown=request.rerank is None)
        return response if request.rerank is None else self.rerank(request, response)

    def first(self, request: SearchRequest, *, shown: bool = True) -> SearchResponse:
        """The first stage; without results where they will not be shown (`rerank` and `too_late` make their own)."""
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
        """Re-rank the first stage's results. Raises RerankQueueFullError where too many requests wait for a model."""
        begun = time.perf_counter()
        timeout = self.time_left(request, response)
        try:
            run = self.begin_rerank(request, response, timeout).result()
        except (RerankTimeoutError, TimeoutError):
            return self.too_late(response, _since(begun))
        return self.reranked(request, response, run, _since(begun))

    def time_left(self, request: SearchRequest, response: SearchResponse) -> float:
        """Seconds left for the second stage."""
        return max(0.001, (request.timeout or self.settings.timeout) - response.took_ms / 1000)

    def begin_rerank(self, request: SearchRequest, response: SearchResponse, timeout: float) -> Future[Run]:
        """Put the first stage's run into the queue; the future gives the re-ranked run."""
        found = _found(response)
        stage = request.rerank_options(self._model(request)).stage(found.index)
        return self.queue.submit(stage, found.runs[found.first - 1][1], timeout, found.notes)

    def reranked(
        self, request: SearchRequest, response: SearchResponse, run: Run, waited_ms: float = 0.0
    ) -> SearchResponse:
        """The response for a re-ranked run."""
        begun = time.perf_counter()
        found = _found(response)
        stage = request.rerank_options(self._model(request)).reranker(found.index)

        def read(docno: str) -> RerankExplanation | None:
            if not isinstance(stage, CrossEncoder):  # other models score a document beside other documents
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
        """The first stage's results as a partial response, after a time-out."""
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
        """Facts about the index and the models, without paths of this machine."""
        index = self.indexes.current
        told = {name: value for name, value in index.info().items() if name != "path"}
        vectors = [{**there.info(), "model": public_name(there.model)} for there in all_vectors_of(index)]
        models = {"rerankers": list(self.settings.rerankers), "default_reranker": self.settings.default_reranker}
        return {"name": self.settings.index_name, **told, "vectors": vectors, **models}

    def _model(self, request: SearchRequest) -> str:
        """The operator's name for the model that a request names."""
        return self.settings.rerankers[request.rerank or ""]


def _found(response: SearchResponse) -> SearchState:
    if response.found is None:
        raise ValueError("expected a response of Searcher.first, found one without what it found")
    return response.found


def _joined(*some: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(some)))


def _two_documents() -> Run:
    """A small run that any model can re-rank."""
    documents = {name: Document(name, {"text": name}) for name in ("warm", "up")}
    return Run.from_dict(
        {"warm": dict.fromkeys(documents, 1.0)}, queries=Queries.of({"warm": "up"}), documents=documents
    )


def _since(begun: float) -> float:
    return 1000 * (time.perf_counter() - begun)
