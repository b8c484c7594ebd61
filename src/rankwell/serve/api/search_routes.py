"""Searching: results at once, or as a stream that begins with the first stage's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from rankwell.core import RankwellError
from rankwell.serve.api.errors import problem_for
from rankwell.serve.api.problems import JSON
from rankwell.serve.api.schemas import problems, search_body, search_parameters, success
from rankwell.serve.requests import SearchRequest, parse_body, parse_query
from rankwell.serve.responses import SearchResponse
from rankwell.serve.service import Service

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
