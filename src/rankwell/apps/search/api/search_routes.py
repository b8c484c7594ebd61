"""Search over HTTP: one answer, or a stream that begins with the first stage's results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from rankwell.apps.search.api.problems import JSON, problem_for, respond
from rankwell.apps.search.api.schemas import problems, search_body, search_parameters, success
from rankwell.apps.search.requests import SearchRequest, parse_body, parse_query
from rankwell.apps.search.responses import SearchResponse
from rankwell.apps.search.service import Service
from rankwell.core import RankwellError

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rankwell.apps.search.service import Service


router = APIRouter(default_response_class=Response, tags=["search"])
REFUSALS = problems(400, 401, 422, 429, 503)
STREAM = {
    "description": "Events `first` and `reranked` (each with a SearchResponse), then `done`; or `error` (a Problem).",
    "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/Event"}}},
}


@router.get(
    "/api/search",
    summary="Search",
    operation_id="search",
    responses={200: success("SearchResponse", "The results."), **REFUSALS},
    openapi_extra={"parameters": search_parameters()},
)
async def search(request: Request) -> Response:
    """Search with the options of `rankwell search`, in the query string.

    Results that a model should have re-ranked and did not within the time-out are the first stage's, and `partial`.
    """
    service: Service = request.app.state.service
    return await _searched(service, parse_query(request.scope["query_string"], service.settings), request)


@router.post(
    "/api/search",
    summary="Search, with options as JSON",
    operation_id="search_with_json",
    responses={200: success("SearchResponse", "The results."), **REFUSALS, **problems(413, 415)},
    openapi_extra={"requestBody": search_body()},
)
async def search_with_json(request: Request) -> Response:
    """The same, with the options as a JSON object."""
    service: Service = request.app.state.service
    return await _searched(service, parse_body(await request.body(), service.settings), request)


@router.get(
    "/api/search/stream",
    summary="Search, with results as they come",
    operation_id="search_stream",
    responses={200: STREAM, **REFUSALS},
    openapi_extra={"parameters": search_parameters()},
)
async def search_stream(request: Request) -> Response:
    """Server-sent events: the first stage's results at once, re-ranked ones when the model is done."""
    service: Service = request.app.state.service
    asked = parse_query(request.scope["query_string"], service.settings)
    response, made = await service.first(asked)
    events = _events(service, asked, response, made, request)
    return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _searched(service: Service, asked: SearchRequest, request: Request) -> Response:
    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return Response(await service.search(asked, gone), media_type=JSON)


async def _events(
    service: Service, asked: SearchRequest, response: SearchResponse, made: bytes, request: Request
) -> AsyncIterator[bytes]:
    try:
        async for event in service.stream(asked, response, made):
            yield event
    except asyncio.CancelledError:
        raise
    except RankwellError as error:
        told = orjson.dumps(problem_for(request.app.state.service, error).for_json())
        yield b"event: error\ndata: " + told + b"\n\n"


PATH = "/api/search"


class QuickSearch:
    """Middleware that answers searches itself and passes everything else on."""

    def __init__(self, app: ASGIApp, *, service: Service, route: BaseRoute) -> None:
        self.app, self.service, self.route = app, service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a search, or pass the request on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        scope["route"] = self.route

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        try:
            asked = parse_query(scope["query_string"], self.service.settings)
            body = await self.service.search(asked, gone)
        except RankwellError as error:
            await respond(problem_for(self.service, error))(scope, receive, send)
            return
        headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
