"""The parts that routes use: the searcher in its threads, the writer, the judgments, and the metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, ParamSpec, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from rankwell.apps.search.documents_writer import DocumentsWriter
from rankwell.apps.search.judgments import JudgmentsFile
from rankwell.apps.search.process import open_descriptors, resident_bytes
from rankwell.apps.search.requests import SearchRequest
from rankwell.apps.search.rerank_queue import RerankTimeoutError
from rankwell.apps.search.responses import take_notes, to_json
from rankwell.apps.search.searcher import Searcher, SearchState
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import RankwellError, home
from rankwell.index import scheme_of

Receive = Callable[[], Awaitable[Any]]
P = ParamSpec("P")
T = TypeVar("T")
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Bucket bounds in seconds, a factor of about 2.5 apart.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
disable_created_metrics()  # type: ignore[no-untyped-call]


class BusyError(RankwellError):
    """Too many searches are waiting, or this one has waited too long."""

    status = 503

    def __init__(self, found: str) -> None:
        super().__init__(f"searches: expected a free place, found {found}: try again in 1 s")


class TooSlowError(RankwellError):
    """Even the first stage was not done in time, so that there are no results."""

    status = 503


class GoneError(RankwellError):
    """The client has disconnected: its request is cancelled."""

    status = 499  # nginx's status for a client that closed the connection


class SearchPool:
    """Runs functions in `threads` threads, used from one event loop.

    Up to `waiting` callers wait, each for up to `patience` seconds; more get `BusyError` at once. Kernels and
    models release the GIL, so that threads run in parallel.
    """

    def __init__(self, threads: int, waiting: int, patience: float) -> None:
        self.most_waiting, self.patience = waiting, patience
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="rankwell-search")
        self._places = asyncio.Semaphore(threads)
        self.waiting = self.shed = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function in a thread of the pool and return its result."""
        if self._places.locked():
            await self._wait()
        else:
            await self._places.acquire()
        future = self._executor.submit(function, *args, **kwargs)
        try:
            return await asyncio.wrap_future(future)
        finally:
            self._leave(future)

    def close(self) -> None:
        """Wait for running functions; start no more."""
        self._executor.shutdown(cancel_futures=True)

    async def _wait(self) -> None:
        if self.waiting >= self.most_waiting:
            self.shed += 1
            raise BusyError(f"{self.waiting} searches that wait for one")
        self.waiting += 1
        try:
            async with asyncio.timeout(self.patience):
                await self._places.acquire()
        except TimeoutError:
            self.shed += 1
            raise BusyError(f"none within {self.patience:g} s") from None
        finally:
            self.waiting -= 1

    def _leave(self, future: Future[T]) -> None:
        """Free the place when the thread ends: after a caller gave up, its thread may still run."""
        if future.done() or future.cancel():
            self._places.release()
            return
        loop = asyncio.get_running_loop()

        def release(_: Future[T]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._places.release)

        future.add_done_callback(release)


class Read(NamedTuple):
    """A gauge or counter that is read on request: one number, or one for each value of a label."""

    name: str
    about: str
    read: Callable[[], float | Mapping[str, float]]
    label: str | None = None


class Metrics(Collector):
    """The counters of one server, and numbers read from its parts, for Prometheus (`GET /metrics`)."""

    def __init__(self, *read: Read) -> None:
        self._registry, self._read = CollectorRegistry(), read
        self.requests = Counter("rankwell_requests", "Requests.", ["route", "status"], registry=self._registry)
        self.seconds = self._histogram("rankwell_request_seconds", "From request to answer.", "route")
        self.stages = self._histogram("rankwell_stage_seconds", "What each stage of a search took.", "stage")
        self._registry.register(self)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Read the numbers as Prometheus metrics."""
        for name, about, read, label in self._read:
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = kind(name, about, labels=[label] if label else [])
            numbers = read()
            for value, number in numbers.items() if isinstance(numbers, Mapping) else [(None, numbers)]:
                family.add_metric([value] if value else [], number)
            yield family

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _histogram(self, name: str, about: str, label: str) -> Histogram:
        return Histogram(name, about, [label], buckets=SECONDS, registry=self._registry)


@dataclass(eq=False)
class Service:
    """The parts of one server. Searches run in the pool's threads; routes only wait for them."""

    settings: ServeSettings
    searcher: Searcher
    pool: SearchPool
    judgments: JudgmentsFile | None = None
    writer: DocumentsWriter | None = None
    ready: bool = False
    trouble: str | None = None  # why it will never be ready

    def __post_init__(self) -> None:
        queue, indexes = self.searcher.queue, self.searcher.indexes
        self.metrics = Metrics(
            Read(
                "rankwell_shed_total",
                "Refused with 503.",
                lambda: {"search": self.pool.shed, "rerank": queue.shed},
                "stage",
            ),
            Read("rankwell_searches_waiting", "Searches that wait for a thread.", lambda: self.pool.waiting),
            Read("rankwell_rerank_waiting", "Requests that wait for a model.", lambda: queue.waiting),
            Read("rankwell_rerank_pairs_total", "Pairs that models looked at.", lambda: queue.scored),
            Read("rankwell_documents", "Documents in the index.", lambda: len(indexes.current)),
            Read("rankwell_index_commit", "The commit that is searched.", lambda: indexes.current.commit),
            Read("rankwell_refresh_failures_total", "Commits that could not be opened.", lambda: indexes.failures),
            Read("rankwell_memory_bytes", "Memory of this process.", resident_bytes),
            Read("rankwell_descriptors", "Open file descriptors of this process.", open_descriptors),
        )

    async def search(self, request: SearchRequest, receive: Receive) -> bytes:
        """Both stages, as JSON; the first stage's results where the second is late. Ends if the client disconnects."""
        if request.rerank is None:
            return (await self.first(request, response_json))[1]
        self.searcher.queue.check_room()  # a request that is refused anyway costs no search
        state, _ = await self.first(request, lambda _: None, shown=False)
        return await self._second_or_late(state, receive)

    async def stream(self, state: SearchState, first: bytes) -> AsyncIterator[bytes]:
        """The first stage's results, then the model's, as server-sent events."""
        yield event(b"first", first)
        if state.request.rerank is not None:
            yield event(b"reranked", await self._second_or_late(state, asyncio.get_running_loop().create_future))
        yield event(b"done", b"{}")

    async def first(
        self, request: SearchRequest, then: Callable[[SearchState], T], *, shown: bool = True
    ) -> tuple[SearchState, T]:
        """The first stage, and what `then` makes of it in the same thread.

        Its limit is the server's time-out, as without it there are no results.
        """

        def work() -> tuple[SearchState, T]:
            state = self.searcher.first(request, shown=shown)
            return state, then(state)

        try:
            async with asyncio.timeout(self.settings.timeout):
                state, made = await self.pool.run(work)
        except TimeoutError:
            limit = f"{self.settings.timeout:g} s"
            raise TooSlowError(f"search: expected an answer within {limit}, found none yet") from None
        self.metrics.stages.labels("first").observe(state.response.took_ms / 1000)
        return state, made

    async def second(self, state: SearchState, receive: Receive, then: Callable[[SearchState], T]) -> T:
        """The second stage, and what `then` makes of it in the same thread.

        Raises RerankQueueFullError, RerankTimeoutError, or GoneError when the client disconnects (ASGI's `receive`).
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        timeout = (state.request.timeout or self.settings.timeout) - state.response.took_ms / 1000
        future = self.searcher.begin_rerank(state, max(0.001, timeout))
        waiter, watcher = asyncio.wrap_future(future), asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((waiter, watcher), return_when=asyncio.FIRST_COMPLETED)
            if not waiter.done():
                raise GoneError("search: the client has left")
            run = waiter.result()
        finally:
            future.cancel()
            watcher.cancel()
            with contextlib.suppress(BaseException):
                await watcher
        waited = loop.time() - begun
        self.metrics.stages.labels("rerank").observe(waited)
        return await self.pool.run(lambda: then(self.searcher.reranked(state, run, 1000 * waited)))

    async def _second_or_late(self, state: SearchState, receive: Receive) -> bytes:
        begun = asyncio.get_running_loop().time()
        try:
            return await self.second(state, receive, response_json)
        except (RerankTimeoutError, TimeoutError):
            waited = 1000 * (asyncio.get_running_loop().time() - begun)
            return await self.pool.run(lambda: response_json(self.searcher.too_late(state, waited)))

    def public(self, text: str) -> str:
        """A text for clients, without paths of this machine."""
        index, name = self.settings.index, self.settings.index_name
        whole = str(self.searcher.indexes.current.path) if isinstance(index, str) else str(index.resolve())
        models = {model: known for known, model in self.settings.rerankers.items() if model != known}
        for private, shown in {whole: name, str(index): name, **models, str(home()): "RANKWELL_HOME"}.items():
            text = text.replace(private, shown)
        return text

    def close(self) -> None:
        """Shut down in order: searches, models, writer."""
        self.pool.close()
        self.searcher.close()
        if self.writer is not None:
            self.writer.close()
        if self.judgments is not None:
            self.judgments.close()


def create_service(settings: ServeSettings) -> Service:
    """Open the index, and create the searcher, the writer and the other parts of a server."""
    take_notes()
    searcher = Searcher(settings)
    searcher.check()
    pool = SearchPool(settings.search_threads, settings.waiting, settings.patience)
    judgments = None if settings.judgments is None else JudgmentsFile(settings.judgments)
    writer = None  # an index in a database is written by other programs (`rankwell push`)
    if scheme_of(settings.index) is None:
        writer = DocumentsWriter(settings.index, lambda _: searcher.indexes.refresh())
    return Service(settings, searcher, pool, judgments, writer)


def response_json(state: SearchState) -> bytes:
    """The response of a search as JSON."""
    return to_json(state.response)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def event(name: bytes, data: bytes) -> bytes:
    """A server-sent event."""
    return b"event: " + name + b"\ndata: " + data + b"\n\n"
