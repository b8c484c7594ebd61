"""The two stages of a page's search: first the first stage, then the model; a failed second stage is no error."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

from fastapi import Request

from rankwell.apps.search.requests import SearchRequest
from rankwell.apps.search.rerank_queue import RerankQueueFullError, RerankTimeoutError
from rankwell.apps.search.responses import SearchResponse
from rankwell.apps.search.service import Service, TooSlowError

TOO_MANY = "Many people ask the model at the moment: these are the results without it. Try again in a little while."
TOO_LATE = "The model was not done in time: these are the results without it. Let it read fewer documents."


async def first(service: Service, asked: SearchRequest) -> SearchResponse:
    """Run the first stage and return its results."""
    try:
        async with asyncio.timeout(service.settings.timeout):
            response = await service.pool.run(service.searcher.first, asked)
    except TimeoutError:
        raise TooSlowError(service.settings.timeout) from None
    service.metrics.stages.labels("first").observe(response.took_ms / 1000)
    return response


async def second(service: Service, asked: SearchRequest, response: SearchResponse, request: Request) -> SearchResponse:
    """The re-ranked results; where the model is too busy or too slow, the first stage's with a note.

    Work for a browser that has disconnected (the user types on) is cancelled.
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
            return response  # no client is left to read this
        run = waiter.result()
    except (RerankTimeoutError, TimeoutError):
        return _instead(response, TOO_LATE)
    finally:
        future.cancel()
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher
    waited = loop.time() - begun
    service.metrics.stages.labels("rerank").observe(waited)
    return await service.pool.run(searcher.reranked, asked, response, run, 1000 * waited)


def _instead(response: SearchResponse, words: str) -> SearchResponse:
    return replace(response, partial=True, warnings=[*response.warnings, words])


async def _left(request: Request) -> None:
    """Return when the browser has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
