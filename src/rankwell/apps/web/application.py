"""A web application with static files and limits, and the process that serves it."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping

import anyio
import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from rankwell.apps.web.connections import Limits, limited
from rankwell.apps.web.middleware import Bodies, Faults, SecurityHeaders
from rankwell.apps.web.pages import Pages
from rankwell.core import ParameterError
from rankwell.core.errors import NotSavedError

logger = logging.getLogger("rankwell.web")


class ElsewhereError(Exception):
    """Raised with a path by a page, to redirect the visitor to another page of the application."""


FOR_A_YEAR = "public, max-age=31536000, immutable"


def new_application(
    title: str, pages: Pages, *, describe: bool = False, uploads: Mapping[str, int] | None = None
) -> FastAPI:
    """An application without pages. `describe` publishes its OpenAPI description, for tests.

    `uploads` are the paths that take files, each with the largest body it may have.
    """
    app = FastAPI(
        title=title, docs_url=None, redoc_url=None, openapi_url="/openapi.json" if describe else None, debug=False
    )

    def http_error(request: Request, error: Exception) -> Response:
        status, headers = getattr(error, "status_code", 500), getattr(error, "headers", None)
        response = pages.error(request, status)
        response.headers.update(headers or {})
        return response

    def not_saved(request: Request, error: Exception) -> Response:
        logger.error("%s", error)
        return pages.error(request, NotSavedError.status)

    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(NotSavedError, not_saved)
    app.add_exception_handler(ElsewhereError, lambda _, error: RedirectResponse(pages.url(str(error)), 303))
    app.add_exception_handler(RequestValidationError, lambda request, _: pages.error(request, 422))
    # The last one added handles requests first.
    app.add_middleware(Bodies, sessions=pages.sessions, page=pages.error, uploads=uploads)
    app.add_middleware(Faults, page=pages.error)
    app.add_middleware(SecurityHeaders, secure=pages.sessions.secure)
    _add_static_files(app, pages)
    return app


def _add_static_files(app: FastAPI, pages: Pages) -> None:
    """Serve static files by their plain names, and nothing else in or above their folders."""

    def static(name: str, v: str = "") -> Response:
        if name not in pages.files:
            raise HTTPException(404)
        current = v == pages.versions[name]
        return FileResponse(pages.files[name], headers={"cache-control": FOR_A_YEAR if current else "no-cache"})

    def favicon() -> Response:
        return static("favicon.svg")

    app.add_api_route("/static/{name}", static, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/favicon.ico", favicon, methods=["GET"], response_model=None, include_in_schema=False)


THREADS = 12  # for pages; more would only wait for Python's lock
LIMITS = Limits()
GRACE = 10  # seconds for running requests when the server stops


PROXIES = "FORWARDED_ALLOW_IPS"  # as uvicorn and gunicorn call it


def serve(app: ASGIApp, *, host: str, port: int, quiet: bool = False) -> None:
    """Serve until SIGINT or SIGTERM; running requests are answered first."""
    if not 0 <= port < 1 << 16:
        raise ParameterError("--port", expected="a number from 0 to 65535", found=port)
    log_to_stderr(quiet=quiet)
    with ending_well():
        anyio.run(_serve, uvicorn.Server(server_settings(app, host=host, port=port)))


@contextlib.contextmanager
def ending_well() -> Iterator[None]:
    """Treat SIGINT and SIGTERM as a normal end: uvicorn raises the signal again when it has stopped."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def server_settings(app: ASGIApp, *, host: str, port: int, limits: Limits = LIMITS) -> uvicorn.Config:
    """The settings of a server.

    A visitor's address in `X-Forwarded-For` is believed from the proxies that FORWARDED_ALLOW_IPS names, and from
    nobody else: whoever could choose the address would not be limited in guessing codes.
    """
    proxies = os.environ.get(PROXIES, "").strip()
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=limited(limits),
        ws="none",
        access_log=False,  # it would log addresses and query strings; ours does not
        log_config=None,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        timeout_graceful_shutdown=GRACE,
        lifespan="on",
    )


async def _serve(server: uvicorn.Server) -> None:
    current_default_thread_limiter().total_tokens = THREADS
    await server.serve()


def log_to_stderr(*, quiet: bool) -> None:
    """One line per request unless quiet; warnings and faults always."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime  # UTC: servers and those who compare their logs may be in different places
    handler.setFormatter(formatter)
    ours = logging.getLogger("rankwell.web")
    ours.handlers, ours.propagate = [handler], False
    ours.setLevel(logging.WARNING if quiet else logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
