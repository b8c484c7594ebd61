"""The search engine behind the API and the page: the open index, the models, and two-stage search."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from rankwell.apps.search.curation import NOTHING, Curation, Placed
from rankwell.apps.search.process import KernelLoader
from rankwell.apps.search.requests import SearchRequest, parse_values
from rankwell.apps.search.rerank_queue import RerankQueue
from rankwell.apps.search.responses import FIRST, RERANKED, Result, SearchResponse, facet_json, snippets, taken_notes
from rankwell.apps.search.settings import ServeSettings, public_name
from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.index import Index, Mask, SearchIndex, open_index
from rankwell.models.base import find_model
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import RerankExplanation
from rankwell.pipelines import QID, Explanation, RankerOptions, explained, first_runs, parse_weights
from rankwell.retrieve import Asked, filtered, matched, parse_filter, parse_match
from rankwell.retrieve.filters import without_column
from rankwell.retrieve.sorting import RELEVANCE, parse_sort, sort_matches
from rankwell.vectors import all_vectors_of

logger = logging.getLogger(__name__)
server_log = logging.getLogger("rankwell.web.serve")  # for the operator; the other one is for the asker

EVERY = 1.0  # seconds between two checks for commits of other programs
MOST_SNIPPETS = 100  # most results of a response with a snippet
MOST_TEXT = 8_000_000  # most characters of stored fields in a response
MOST_VALUES = 50  # most values of a facet
TOO_LATE = "re-ranking was not done in time: these are the results of the first stage"


class OpenIndex:
    """Gives the index at its last commit. A request keeps the version it got; later requests get later versions.

    A version is closed when the last request drops it. Versions share the segments that they have in common. A commit
    that cannot be opened is logged and counted; `trouble` has the reason until it can, and the version before stays.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self.failures = 0
        self.trouble: str | None = None
        self._lock = Lock()
        self._index = open_index(path)
        self._seen = self._index.last_commit()
        self._next = time.monotonic() + EVERY

    @property
    def current(self) -> SearchIndex:
        """The index at its last commit; commits of other programs are seen after a second."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            if self._index.last_commit() != self._seen:
                with contextlib.suppress(RankwellError):  # told already, and tried again
                    self.refresh()
        return self._index

    def refresh(self) -> None:
        """Check for a later commit now; called after the server's own commits. Raises where it cannot be opened."""
        with self._lock:
            mark = self._index.last_commit()  # before opening: a commit in between is found the next time
            if mark == self._seen:
                return
            try:
                index = self._index
                self._index = index.reopen() if isinstance(index, Index) else open_index(self._path)
            except RankwellError as error:
                self.failures += 1
                if self.trouble != str(error):
                    server_log.error("the last commit cannot be opened, searches see the one before: %s", error)
                self.trouble = str(error)
                raise
            self._seen, self.trouble = mark, None


@dataclass(eq=False)
class SearchState:
    """A search after its latest stage, on the version of the index that it began with.

    `runs` are the runs of each stage by its name; `read` gives the passages of a document that a model read;
    `notes` are the warnings of the second stage; `placed` are documents that the owner pinned or hid;
    `response` is what the client gets.
    """

    index: SearchIndex
    request: SearchRequest
    options: RankerOptions
    runs: list[tuple[str, Run]]
    first: int  # number of runs of the first stage
    words: str  # the query with its synonyms
    placed: Placed = NOTHING
    read: Callable[[str], RerankExplanation | None] | None = None
    notes: list[str] = field(default_factory=list)
    response: SearchResponse = field(init=False)

    @cached_property
    def asked(self) -> str:
        """The query as plain words."""
        return parse_match(self.request.match).words(self.request.q)

    def why(self, docno: str) -> Explanation:
        """Explain the rank of a document."""
        read = None if self.read is None else self.read(docno)
        return explained(self.index, self.options, self.runs, docno, asked=self.asked, read=read)

    def results(self) -> Iterator[Result]:
        """The requested results with their texts."""
        request, index = self.request, self.index
        terms = set(index.analyzer(f"{self.asked} {self.words}")) if request.snippets else set()
        bare = request.fields == () and not request.snippets
        before = self._first_ranks() if self.read is not None else None
        left, pinned = MOST_TEXT, self.pinned()
        texts: Mapping[str, str]
        for rank, (docno, score) in enumerate(self.ranking()[request.offset : request.last], request.offset + 1):
            first = rank if before is None else before.get(docno)
            moved = None if before is None or first is None else first - rank
            why = self.why(docno).for_json() if request.explain else None
            if bare:
                yield Result(docno, rank, score, first, moved, {}, {}, {}, why, docno in pinned)
                continue
            stored = index.documents[docno]
            texts = stored.fields
            if request.fields is not None:
                texts = {name: texts[name] for name in request.fields if name in texts}
            fitted, left = left >= 0, left - sum(map(len, texts.values()))
            if fitted and left < 0:
                logger.warning(
                    "texts are left out from rank %d on: all together they are too long for one answer", rank
                )
            shows = request.snippets and rank <= request.offset + MOST_SNIPPETS
            passages = snippets(stored.fields, terms, index) if shows else {}
            shown = texts if left >= 0 else {}
            yield Result(docno, rank, score, first, moved, shown, stored.metadata, passages, why, docno in pinned)

    def ranking(self) -> Sequence[tuple[str, float]]:
        """The documents with their scores, in the order in which they are shown."""
        sort, hidden = parse_sort(self.request.sort), self.placed.hidden
        if sort is not None:
            ranked = sort_matches(self.options.bm25(self.index), self.words, sort, self.request.last + len(hidden))
            return [row for row in ranked if row[0] not in hidden]
        ranked = list(self.runs[-1][1][QID])
        if self.placed is NOTHING:
            return ranked
        first = self.pinned()
        scores = dict(ranked)
        others = [row for row in ranked if row[0] not in hidden and row[0] not in first]
        return [*((docno, scores.get(docno, 0.0)) for docno in first), *others]

    def pinned(self) -> tuple[str, ...]:
        """The documents that come first: those that exist and pass the filter."""
        if not self.placed.pinned or self.request.sort != RELEVANCE:
            return ()
        numbers = {docno: number for docno in self.placed.pinned if (number := self.index.number(docno)) is not None}
        if self.request.filter is None:
            return tuple(numbers)
        passing = filtered(self.request.filter, self.index)
        return tuple(docno for docno, number in numbers.items() if (passing & self.index.mask([number])).any())

    def _first_ranks(self) -> dict[str, int]:
        """The rank of each document after the first stage."""
        docnos = self.runs[self.first - 1][1][QID].docnos.tolist()
        return {docno: rank for rank, docno in enumerate(docnos, 1)}

    def matching(self) -> Mask:
        """Mask of the documents that match the query and the filter; a search by embeddings alone matches all."""
        request, index = self.request, self.index
        fields = tuple(parse_weights(request.weights) or ("",))
        everything = request.dense and request.match == "or"
        mask = index.live if everything else matched(self.options.match, Asked(self.words, fields), index)
        pinned, hidden = (self._numbers(docnos) for docnos in (self.placed.pinned, self.placed.hidden))
        mask = mask | index.mask(pinned) if pinned else mask
        mask = mask & ~index.mask(hidden) if hidden else mask
        return mask if request.filter is None else mask & filtered(request.filter, index)

    def _numbers(self, docnos: Iterable[str]) -> list[int]:
        return [number for docno in docnos if (number := self.index.number(docno)) is not None]

    def facets(self) -> dict[str, dict[str, Any]]:
        """Facet counts for the requested columns, each under all conditions of the filter but those on itself.

        So they say how many documents another choice would add.
        """
        columns = self.index.columns
        for name in self.request.facets:
            if name not in columns:
                known = f"one of {', '.join(columns)}" if columns else "none: the index keeps no metadata"
                raise ParameterError("facets", expected=known, found=name)
        return {
            name: facet_json(columns[name].facet(self._matching_but(name), MOST_VALUES)) for name in self.request.facets
        }

    def _matching_but(self, column: str) -> Mask:
        condition = None if self.request.filter is None else parse_filter(self.request.filter)
        left = None if condition is None else without_column(condition, column)
        return replace(self, request=replace(self.request, filter=None if left is None else str(left))).matching()


class Searcher:
    """Searches for requests, from many threads at once.

    state = searcher.first(request)                            # at once
    run = searcher.begin_rerank(state, timeout=5).result()
    state = searcher.reranked(state, run)                      # when a model has read the top

    Every request stays on the version of the index that it began with.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.indexes = OpenIndex(settings.index)
        self.curation = Curation.open(settings.synonyms, settings.pins)
        self.queue = RerankQueue()
        self._kernels = KernelLoader()

    def check(self) -> None:
        """Refuse models that are missing or not served, and defaults beyond the limits, at once.

        `warm_up` checks whether the models can rank.
        """
        if self.settings.defaults:
            parse_values({"k": 1}, self.settings)
        for model in self.settings.rerankers.values():
            find_model(model)
            SearchRequest().rerank_options(model).reranker(self.indexes.current)

    def warm_up(self) -> None:
        """Load kernels and models before the first request; raises where a re-ranker cannot be used."""
        self._kernels.load()
        if self._kernels.closed:
            return
        for vectors in all_vectors_of(self.indexes.current):
            with contextlib.suppress(RankwellError):  # reported to requests that search these vectors
                self.first(SearchRequest(q="warm up", k=1, dense=True, vectors=vectors.name))
        documents = {name: Document(name, {"text": name}) for name in ("warm", "up")}
        run = Run.from_dict(
            {"warm": dict.fromkeys(documents, 1.0)}, queries=Queries.of({"warm": "up"}), documents=documents
        )
        for model in self.settings.rerankers.values():
            stage = SearchRequest().rerank_options(model).reranker(self.indexes.current)
            scorer = self.queue.load(stage)
            scorer.scores(scorer.logits([]))  # raises for a model that cannot rank
            self.queue.submit(stage.changed(index=None), run, notes=[]).result()

    def close(self) -> None:
        """Cancel waiting re-ranking and running compilation."""
        self._kernels.close()
        self.queue.close()

    def first(self, request: SearchRequest, *, shown: bool = True) -> SearchState:
        """The first stage; without results where they will not be shown (the second stage makes its own)."""
        begun = time.perf_counter()
        with taken_notes() as notes:
            index, options, placed = self.indexes.current, request.first_options(), self.curation.placed(request.q)
            words = request.q
            if not (request.rm3 or request.variants or request.dense):
                match, variants, words = self.curation.expand(request.q, request.match)
                options = replace(options, match=match, own_variants={QID: variants} if variants else None)
            runs = first_runs(index, replace(options, k=options.k + len(placed.hidden)), request.q)
            state = SearchState(index, request, options, runs, len(runs), words, placed)
            mask = state.matching() if request.total or request.facets else None
            results = list(state.results()) if shown else []
            facets = state.facets()
            total = None if mask is None else int(mask.sum())
        state.response = SearchResponse(
            request.q, _since(begun), FIRST, False, total, index.commit, notes, results, facets
        )
        return state

    def begin_rerank(self, state: SearchState, timeout: float) -> Future[Run]:
        """Put the first stage's run into the queue; the future gives the re-ranked run."""
        stage = state.request.rerank_options(self._model(state)).stage(state.index)
        return self.queue.submit(stage, state.runs[state.first - 1][1], timeout, state.notes)

    def reranked(self, state: SearchState, run: Run, waited_ms: float = 0.0) -> SearchState:
        """The search after its second stage, which gave this run."""
        begun = time.perf_counter()
        request = state.request
        stage = request.rerank_options(self._model(state)).reranker(state.index)

        def read(docno: str) -> RerankExplanation | None:
            if not isinstance(stage, CrossEncoder):  # other models score a document beside other documents
                return None
            return self.queue.explain(stage, request.q, state.index.documents[docno], self.settings.timeout).result()

        again = replace(state, runs=[*state.runs[: state.first], (request.rerank or "", run)], read=read)
        with taken_notes() as notes:
            results = list(again.results())
        again.response = replace(
            state.response,
            stage=RERANKED,
            results=results,
            warnings=list(dict.fromkeys([*state.response.warnings, *state.notes, *notes])),
            took_ms=round(state.response.took_ms + waited_ms + _since(begun), 3),
        )
        return again

    def too_late(self, state: SearchState, waited_ms: float = 0.0) -> SearchState:
        """The first stage's results as a partial response, after a time-out."""
        late = replace(state)
        late.response = replace(
            state.response,
            results=state.response.results or list(state.results()),
            partial=True,
            warnings=list(dict.fromkeys([*state.response.warnings, TOO_LATE])),
            took_ms=round(state.response.took_ms + waited_ms, 3),
        )
        return late

    def document(self, docno: str) -> Document | None:
        """A stored document, or None."""
        return self.indexes.current.documents.get(docno)

    def info(self) -> dict[str, Any]:
        """Facts about the index and the models, without paths of this machine."""
        index = self.indexes.current
        facts = {name: value for name, value in index.info().items() if name != "path"}
        vectors = [{**each.info(), "model": public_name(each.model)} for each in all_vectors_of(index)]
        models = {"rerankers": list(self.settings.rerankers), "default_reranker": self.settings.default_reranker}
        return {"name": self.settings.index_name, **facts, "vectors": vectors, **models}

    def _model(self, state: SearchState) -> str:
        """The operator's name for the model that a request names."""
        return self.settings.rerankers[state.request.rerank or ""]


def _since(begun: float) -> float:
    """Milliseconds since then."""
    return round(1000 * (time.perf_counter() - begun), 3)
