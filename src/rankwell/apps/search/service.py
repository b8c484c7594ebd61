"""The parts that routes use: the searcher in its threads, the writer, the judgments, and the metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass

import orjson

from rankwell.apps.search.documents_writer import DocumentsWriter
from rankwell.apps.search.index import SearchPool
from rankwell.apps.search.judgments import JudgmentsFile
from rankwell.apps.search.metrics import Metrics, Read
from rankwell.apps.search.process import resident_bytes
from rankwell.apps.search.requests import SearchRequest
from rankwell.apps.search.rerank_queue import RerankTimeoutError
from rankwell.apps.search.responses import SearchResponse
from rankwell.apps.search.searcher import Searcher
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import RankwellError

Gone = Callable[[], Coroutine[None, None, None]]  # ends when the client has disconnected


class TooSlowError(RankwellError):
    """Even the first stage was not done in time, so that there are no results."""

    retry_after = 1

    def __init__(self, seconds: float) -> None:
        super().__init__(f"search: expected an answer within {seconds:g} s, found none yet")


class GoneError(RankwellError):
    """The client has disconnected: its request is cancelled."""

    def __init__(self) -> None:
        super().__init__("search: the client has left")


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
            Read("rankwell_shed_total", "Refused with 503.", self._shed, "stage"),
            Read("rankwell_searches_waiting", "Searches that wait for a thread.", lambda: self.pool.waiting),
            Read("rankwell_rerank_waiting", "Requests that wait for a model.", lambda: queue.waiting),
            Read("rankwell_rerank_pairs_total", "Pairs that models looked at.", lambda: queue.scored),
            Read("rankwell_documents", "Documents in the index.", lambda: len(indexes.current)),
            Read("rankwell_index_commit", "The commit that is searched.", lambda: indexes.current.commit),
            Read("rankwell_memory_bytes", "Memory of this process.", resident_bytes),
        )

    async def search(self, request: SearchRequest, gone: Gone) -> bytes:
        """Both stages, as JSON; the first stage's results where the second is late. Ends if the client disconnects."""
        if request.rerank is not None:
            self.searcher.queue.check_room()  # a request that is refused anyway costs no search
        response, made = await self.first(request, shown=request.rerank is None)
        if request.rerank is None:
            return made
        return await self.second(request, response, gone)

    async def stream(self, request: SearchRequest, response: SearchResponse, made: bytes) -> AsyncIterator[bytes]:
        """The first stage's results, then the model's, as server-sent events."""
        yield _event(b"first", made)
        if request.rerank is not None:
            yield _event(b"reranked", await self.second(request, response, _never))
        yield _event(b"done", b"{}")

    async def first(self, request: SearchRequest, *, shown: bool = True) -> tuple[SearchResponse, bytes]:
        """The first stage, and its JSON. Its limit is the server's time-out, as without it there are no results."""
        seconds = self.settings.timeout
        try:
            async with asyncio.timeout(seconds):
                response, made = await self.pool.run(self._first, request, shown)
        except TimeoutError:
            raise TooSlowError(seconds) from None
        self.metrics.stages.labels("first").observe(response.took_ms / 1000)
        return response, made

    async def second(self, request: SearchRequest, response: SearchResponse, gone: Gone) -> bytes:
        """The second stage, as JSON."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        future = self.searcher.begin_rerank(request, response, self.searcher.time_left(request, response))
        waiter, watcher = asyncio.wrap_future(future), asyncio.ensure_future(gone())
        try:
            await asyncio.wait((waiter, watcher), return_when=asyncio.FIRST_COMPLETED)
            if not waiter.done():
                raise GoneError
            run = waiter.result()
        except (RerankTimeoutError, TimeoutError):
            waited = 1000 * (loop.time() - begun)
            return await self.pool.run(lambda: _json(self.searcher.too_late(response, waited)))
        finally:
            future.cancel()
            watcher.cancel()
            with contextlib.suppress(BaseException):
                await watcher
        waited = 1000 * (loop.time() - begun)
        self.metrics.stages.labels("rerank").observe(waited / 1000)
        return await self.pool.run(lambda: _json(self.searcher.reranked(request, response, run, waited)))

    def close(self) -> None:
        """Shut down in order: searches, models, writer."""
        self.pool.close()
        self.searcher.close()
        if self.writer is not None:
            self.writer.close()
        if self.judgments is not None:
            self.judgments.close()

    def _first(self, request: SearchRequest, shown: bool) -> tuple[SearchResponse, bytes]:
        response = self.searcher.first(request, shown=shown)
        return response, _json(response) if shown else b""

    def _shed(self) -> dict[str, float]:
        return {"search": self.pool.shed, "rerank": self.searcher.queue.shed}


def _json(response: SearchResponse) -> bytes:
    return orjson.dumps(response.for_json(), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _event(name: bytes, data: bytes) -> bytes:
    return b"event: " + name + b"\ndata: " + data + b"\n\n"


async def _never() -> None:
    await asyncio.get_running_loop().create_future()
