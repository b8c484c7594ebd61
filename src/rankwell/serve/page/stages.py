"""The two stages of a search for a page: the first at once, the model's when it is done; no error for the second."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

from fastapi import Request

from rankwell.serve.requests import SearchRequest
from rankwell.serve.rerank_request import RerankQueueFullError, RerankTimeoutError
from rankwell.serve.responses import SearchResponse
from rankwell.serve.service import Service, TooSlowError

TOO_MANY = "Many people ask the model at the moment: these are the results without it. Try again in a little while."
TOO_LATE = "The model was not done in time: these are the results without it. Let it read fewer documents."


async def first(service: Service, asked: SearchRequest) -> SearchResponse:
    """The first stage's results."""
    try:
        async with asyncio.timeout(service.settings.timeout):
            response = await service.pool.run(service.searcher.first, asked)
    except TimeoutError:
        raise TooSlowError(service.settings.timeout) from None
    service.stages.observe(response.took_ms / 1000, "first")
    return response


async def second(service: Service, asked: SearchRequest, response: SearchResponse, request: Request) -> SearchResponse:
    """The model's results; where it has no time for us, the first stage's with a word about that.

    A browser that has left (somebody types on) no longer costs anything.
    """
    loop = asyncio.get_running_loop()
    begun, searcher = loop.time(), service.searcher
    try:
        future = searcher.begin_rerank(asked, response, searcher.time_left(asked, response))
    except RerankQueueFullError:
        return _instead(response, TOO_MANY)
    waiter, watcher = asyncio.wrap_future(future), asyncio.ensure_future(_left(request))
    both: set[asyncio.Future[Any]] = {waiter, watcher}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not waiter.done():
            return response  # to nobody
        run = waiter.result()
    except (RerankTimeoutError, TimeoutError):
        return _instead(response, TOO_LATE)
    finally:
        future.cancel()
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher
    waited = loop.time() - begun
    service.stages.observe(waited, "rerank")
    return await service.pool.run(searcher.reranked, asked, response, run, 1000 * waited)


def _instead(response: SearchResponse, words: str) -> SearchResponse:
    return replace(response, partial=True, warnings=[*response.warnings, words])


async def _left(request: Request) -> None:
    """Ends when the browser has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
