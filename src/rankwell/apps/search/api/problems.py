"""Errors of the API as JSON, and the checks of request bodies."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from rankwell.apps.search.document_changes import IndexBusyError, NotWrittenError, WriterClosedError, WritesFullError
from rankwell.apps.search.index import BusyError
from rankwell.apps.search.requests import UnreadableError
from rankwell.apps.search.rerank_queue import RerankClosedError, RerankQueueFullError
from rankwell.apps.search.service import GoneError, Service, TooSlowError
from rankwell.apps.web.middleware import HEADERS, UNLESS_SAID, replay
from rankwell.core import ParameterError, RankwellError, home
from rankwell.core.errors import shown

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send


JSON = "application/json"
WORDS = {
    400: "the request cannot be read",
    404: "there is nothing here",
    405: "this method is not for this address",
    408: "the request came too slowly",
    413: "the request is too large",
    415: "the body is of another kind",
    422: "the request asks for something that cannot be",
    500: "something went wrong here",
    503: "too much is being asked at the moment",
}


@dataclass(frozen=True)
class Problem:
    """Why a request was refused. `where` names the option or the part of the body."""

    status: int
    error: str
    expected: str | None = None
    found: str | None = None
    where: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def for_json(self) -> dict[str, Any]:
        """The problem as a dictionary for JSON."""
        return {"error": self.error, "expected": self.expected, "found": self.found, "where": self.where}


class ProblemError(Exception):
    """Raised by a route to answer with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.error)
        self.problem = problem


def respond(problem: Problem) -> Response:
    """The problem as a response with the headers of every answer, as it may be sent before any middleware adds them."""
    return json_response(problem.for_json(), problem.status, {**HEADERS, **UNLESS_SAID, **problem.headers})


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response with the content as JSON; numpy numbers are converted."""
    from starlette.responses import Response

    made = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(made, status, dict(headers or {}), JSON)


def problem_of(error: RankwellError, status: int = 422, hidden: Mapping[str, str] | None = None) -> Problem:
    """A library error as a problem. `hidden` maps texts (paths of this machine) to their replacements."""
    told = str(error)
    for text, instead in (hidden or {}).items():
        told = told.replace(text, instead)
    if not isinstance(error, ParameterError):
        return Problem(status, told)
    name = _as_option(error.name)
    told = told.replace(error.name, name, 1)
    expected = error.expected
    for text, instead in (hidden or {}).items():
        expected = expected.replace(text, instead)
    return Problem(status, told, expected, shown(error.found), name)


def _as_option(name: str) -> str:
    """An option's name as requests spell it: `--rm3-settings` is `rm3_settings`."""
    return name[2:].replace("-", "_") if name.startswith("--") else name


UNAVAILABLE = 503
STATUSES: tuple[tuple[type[RankwellError], int], ...] = (
    (UnreadableError, 400),
    (GoneError, 499),  # nginx's status for a client that closed the connection
    (BusyError, 503),
    (TooSlowError, 503),
    (RerankQueueFullError, 503),
    (RerankClosedError, 503),
    (IndexBusyError, 409),
    (NotWrittenError, 503),
    (WritesFullError, 503),
    (WriterClosedError, 503),
    (RankwellError, 422),
)


def problem_for(service: Service, error: RankwellError) -> Problem:
    """The problem that a client gets for an error of the library."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    problem = problem_of(error, status, _hidden(service))
    if not hasattr(error, "retry_after") and status != UNAVAILABLE:
        return problem
    seconds = max(1, math.ceil(getattr(error, "retry_after", 1)))
    return replace(problem, headers={"retry-after": str(seconds)})


def answer_errors(app: FastAPI, service: Service) -> None:
    """Answer every error with JSON."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def refused(_: Request, error: Exception) -> Response:
        return respond(problem_for(service, error if isinstance(error, RankwellError) else RankwellError()))

    def raised(_: Request, error: Exception) -> Response:
        return respond(error.problem if isinstance(error, ProblemError) else Problem(500, WORDS[500]))

    def http(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        return respond(Problem(status, WORDS.get(status, "the request was refused"), headers=headers))

    def invalid(_: Request, error: Exception) -> Response:
        first = error.errors()[0] if isinstance(error, RequestValidationError) and error.errors() else {}
        where = ".".join(str(part) for part in first.get("loc", ()))
        return respond(Problem(422, WORDS[422], str(first.get("msg", "")) or None, None, where or None))

    app.add_exception_handler(RankwellError, refused)
    app.add_exception_handler(ProblemError, raised)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


def _hidden(service: Service) -> dict[str, str]:
    """Paths of this machine, with the text that clients see instead."""
    index, name = service.settings.index, service.settings.index_name
    whole = str(service.searcher.indexes.current.path) if isinstance(index, str) else str(index.resolve())
    models = {model: known for known, model in service.settings.rerankers.items() if model != known}
    return {whole: name, str(index): name, **models, str(home()): "RANKWELL_HOME"}


SECONDS = 30.0  # seconds for a body to arrive
WITHOUT = ("GET", "HEAD", "OPTIONS", "DELETE")
SMALL = 64 * 1024  # the largest body of a request that needs none, in bytes


class JsonBodies:
    """Middleware that reads the request body before the route runs, and limits its size.

    A page of another site can make a browser send simple forms here, but no JSON: that needs permission (CORS
    headers), which we give to nobody.
    """

    def __init__(self, app: ASGIApp, *, largest: int) -> None:
        self.app, self.largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or refuse it."""
        if scope["type"] != "http" or (scope["method"] in WITHOUT and not _declares_body(scope)):
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(SECONDS):
                body = await self._read(scope, receive)
        except TimeoutError:
            body = Problem(408, "the body came too slowly", f"all of it in {SECONDS:g} s", "less", "body")
        if isinstance(body, bytes) and body and _kind(scope) != JSON:
            body = Problem(415, "the body is of another kind", JSON, _kind(scope) or "none", "content-type")
        if isinstance(body, Problem):
            await respond(body)(scope, receive, send)
        elif body is not None:
            await self.app(scope, replay(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Problem | None:
        """The whole body, or why it is refused; None where the client has disconnected."""
        largest = SMALL if scope["method"] in WITHOUT else self.largest
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > largest:
            return _too_large(largest, f"{int(declared):,} bytes")
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > largest:
                return _too_large(largest, "more")
            if not message.get("more_body", False):
                return b"".join(parts)


def _too_large(largest: int, found: str) -> Problem:
    # The rest of the body is not read: the connection is closed after the answer.
    return Problem(
        413, "the body is too large", f"at most {largest:,} bytes", found, "body", headers={"connection": "close"}
    )


def _declares_body(scope: Scope) -> bool:
    return _header(scope, b"content-length") not in ("", "0") or _header(scope, b"transfer-encoding") != ""


def _kind(scope: Scope) -> str:
    return _header(scope, b"content-type").partition(";")[0].strip().lower()


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def json_object(body: bytes, needed: Sequence[str], others: Sequence[str] = ()) -> dict[str, Any]:
    """Parse a JSON object that has all the needed names, optionally the others, and no more."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"body: expected JSON, found something else ({error})") from error
    if not isinstance(found, dict):
        raise ParameterError("body", expected="a JSON object", found=found)
    for name in needed:
        if name not in found:
            raise ParameterError("body", expected=f"an object with {', '.join(needed)}", found=f"none of {name}")
    for name in found:
        if name not in (*needed, *others):
            raise ParameterError("body", expected=f"nothing besides {', '.join((*needed, *others))}", found=name)
    return found
