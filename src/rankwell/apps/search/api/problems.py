"""Errors of the API as JSON, and the limits of request bodies."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from rankwell.core import ParameterError, RankwellError, shown

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rankwell.apps.search.service import Service

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
UNAVAILABLE = 503
SECONDS = 30.0  # seconds for a body to arrive
WITHOUT = ("GET", "HEAD", "OPTIONS", "DELETE")
SMALL = 64 * 1024  # the largest body of a request that needs none, in bytes


class ProblemError(Exception):
    """Why a request was refused; routes raise it. `where` names the option or the part of the body."""

    def __init__(
        self,
        status: int,
        error: str,
        expected: str | None = None,
        found: str | None = None,
        where: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.headers = status, error, headers or {}
        self.expected, self.found, self.where = expected, found, where

    def for_json(self) -> dict[str, str | None]:
        """The problem as a dictionary for JSON."""
        return {"error": self.error, "expected": self.expected, "found": self.found, "where": self.where}

    def response(self) -> Response:
        """A response with the headers of every answer, as it may be sent before any middleware adds them."""
        from starlette.responses import Response

        from rankwell.apps.web.middleware import HEADERS, UNLESS_SAID

        headers = {**HEADERS, **UNLESS_SAID, **self.headers}
        return Response(orjson.dumps(self.for_json()), self.status, headers, JSON)


def problem_for(service: Service, error: RankwellError) -> ProblemError:
    """The problem that a client gets for an error of the library, which may have a `status` and `retry_after`."""
    status = getattr(error, "status", 422)
    headers = {}
    if hasattr(error, "retry_after") or status == UNAVAILABLE:
        headers["retry-after"] = str(max(1, math.ceil(getattr(error, "retry_after", 1))))
    text = service.public(str(error))
    if not isinstance(error, ParameterError):
        return ProblemError(status, text, headers=headers)
    # An option's name as requests spell it: `--rm3-settings` is `rm3_settings`.
    name = error.name[2:].replace("-", "_") if error.name.startswith("--") else error.name
    text, expected = text.replace(error.name, name, 1), service.public(error.expected)
    return ProblemError(status, text, expected, shown(error.found), name, headers=headers)


def answer_errors(app: FastAPI, service: Service) -> None:
    """Answer every error with JSON."""
    from starlette.exceptions import HTTPException

    def answer(_: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            words = WORDS.get(error.status_code, "the request was refused")
            error = ProblemError(error.status_code, words, headers=error.headers)
        if isinstance(error, RankwellError):
            error = problem_for(service, error)
        return (error if isinstance(error, ProblemError) else ProblemError(500, WORDS[500])).response()

    for kind in (RankwellError, ProblemError, HTTPException):
        app.add_exception_handler(kind, answer)


def read_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object; orjson refuses NaN, infinite numbers and half characters."""
    try:
        values = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProblemError(400, f"body: expected JSON, found something else ({error})") from error
    if not isinstance(values, dict):
        raise ParameterError("body", expected="a JSON object", found=values)
    return values


def read_named(body: bytes, *needed: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Parse a JSON object that has all the needed names, optionally the others, and no more."""
    values = read_object(body)
    for name in needed:
        if name not in values:
            raise ParameterError("body", expected=f"an object with {', '.join(needed)}", found=f"none of {name}")
    for name in values:
        if name not in (*needed, *others):
            raise ParameterError("body", expected=f"nothing besides {', '.join((*needed, *others))}", found=name)
    return values


class JsonBodies:
    """Middleware that reads the request body before the route runs, and limits its size.

    A page of another site can make a browser send simple forms here, but no JSON: that needs permission (CORS
    headers), which we give to nobody.
    """

    def __init__(self, app: ASGIApp, *, largest: int) -> None:
        self.app, self.largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or refuse it."""
        from rankwell.apps.web.middleware import replay

        if scope["type"] != "http" or (scope["method"] in WITHOUT and not _declares_body(scope)):
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(SECONDS):
                body = await self._read(scope, receive)
        except TimeoutError:
            late = ProblemError(408, "the body came too slowly", f"all of it in {SECONDS:g} s", "less", "body")
            await late.response()(scope, receive, send)
        except ProblemError as problem:
            await problem.response()(scope, receive, send)
        else:
            if body is not None:
                await self.app(scope, replay(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body, which is JSON or empty; None where the client has disconnected."""
        largest = SMALL if scope["method"] in WITHOUT else self.largest
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > largest:
            raise _too_large(largest, f"{int(declared):,} bytes")
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > largest:
                raise _too_large(largest, "more")
            if not message.get("more_body", False):
                break
        kind = _header(scope, b"content-type").partition(";")[0].strip().lower()
        if size and kind != JSON:
            raise ProblemError(415, "the body is of another kind", JSON, kind or "none", "content-type")
        return b"".join(parts)


def _too_large(largest: int, found: str) -> ProblemError:
    # The rest of the body is not read: the connection is closed after the answer.
    close = {"connection": "close"}
    return ProblemError(413, "the body is too large", f"at most {largest:,} bytes", found, "body", headers=close)


def _declares_body(scope: Scope) -> bool:
    return _header(scope, b"content-length") not in ("", "0") or _header(scope, b"transfer-encoding") != ""


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
