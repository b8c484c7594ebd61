"""What routes work with: the searcher in its threads, the writer, the judgments, and what is counted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field

import orjson

from rankwell.core import RankwellError
from rankwell.serve.documents_writer import DocumentsWriter
from rankwell.serve.judgments import JudgmentsFile
from rankwell.serve.metrics import Metrics
from rankwell.serve.pool import SearchPool
from rankwell.serve.process_memory import resident_bytes
from rankwell.serve.requests import SearchRequest
from rankwell.serve.rerank_request import RerankTimeoutError
from rankwell.serve.responses import SearchResponse
from rankwell.serve.searcher import Searcher
from rankwell.serve.settings import ServeSettings

Gone = Callable[[], Coroutine[None, None, None]]  # ends when the client has left


class TooSlowError(RankwellError):
    """The first stage itself was not done in time, so that there is nothing to show."""

    retry_after = 1

    def __init__(self, seconds: float) -> None:
        super().__init__(f"search: expected an answer within {seconds:g} s, found none yet")


class GoneError(RankwellError):
    """The client has left: what it asked for is not worked on any more, and nobody hears this."""

    def __init__(self) -> None:
        super().__init__("search: the client has left")


@dataclass(eq=False)
class Service:
    """One server's parts. Searches run in the pool's threads; routes only wait for them."""

    settings: ServeSettings
    searcher: Searcher
    pool: SearchPool
    judgments: JudgmentsFile | None = None
    writer: DocumentsWriter | None = None
    metrics: Metrics = field(default_factory=Metrics)
    ready: bool = False
    trouble: str | None = None  # why it will never be

    def __post_init__(self) -> None:
        count, queue = self.metrics, self.searcher.queue
        self.requests = count.counter("rankwell_requests_total", "Requests.", ["route", "status"])
        self.seconds = count.histogram("rankwell_request_seconds", "From request to answer.", ["route"])
        self.stages = count.histogram("rankwell_stage_seconds", "What each stage of a search took.", ["stage"])
        count.total("rankwell_shed_total", "Refused with 503.", self._shed, ["stage"])
        count.gauge("rankwell_searches_waiting", "Searches that wait for a thread.", lambda: self.pool.waiting)
        count.gauge("rankwell_rerank_waiting", "Requests that wait for a model.", lambda: queue.waiting)
        count.total("rankwell_rerank_pairs_total", "Pairs that models looked at.", lambda: queue.scored)
        count.gauge("rankwell_documents", "Documents in the index.", lambda: len(self.searcher.indexes.current))
        count.gauge(
            "rankwell_index_commit", "The commit that is searched.", lambda: self.searcher.indexes.current.commit
        )
        count.gauge("rankwell_memory_bytes", "Memory of this process.", resident_bytes)

    async def search(self, request: SearchRequest, gone: Gone) -> bytes:
        """Both stages, as JSON; the first one's results where the second is late. A client that leaves ends it."""
        if request.rerank is not None:
            self.searcher.queue.check_room()  # who is turned away anyway costs no search
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
        """The first stage, and its JSON. It has the server's time, because without it there is nothing to show."""
        seconds = self.settings.timeout
        try:
            async with asyncio.timeout(seconds):
                response, made = await self.pool.run(self._first, request, shown)
        except TimeoutError:
            raise TooSlowError(seconds) from None
        self.stages.observe(response.took_ms / 1000, "first")
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
        self.stages.observe(waited / 1000, "rerank")
        return await self.pool.run(lambda: _json(self.searcher.reranked(request, response, run, waited)))

    def close(self) -> None:
        """End in order: no search, no model, no writing."""
        self.pool.close()
        self.searcher.close()
        if self.writer is not None:
            self.writer.close()
        if self.judgments is not None:
            self.judgments.close()

    def _first(self, request: SearchRequest, shown: bool) -> tuple[SearchResponse, bytes]:
        response = self.searcher.first(request, shown=shown)
        return response, _json(response) if shown else b""

    def _shed(self) -> dict[tuple[str, ...], float]:
        return {("search",): self.pool.shed, ("rerank",): self.searcher.queue.shed}


def _json(response: SearchResponse) -> bytes:
    return orjson.dumps(response.for_json(), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _event(name: bytes, data: bytes) -> bytes:
    return b"event: " + name + b"\ndata: " + data + b"\n\n"


async def _never() -> None:
    await asyncio.get_running_loop().create_future()
