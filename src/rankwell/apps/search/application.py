"""The whole server as one ASGI application, and the function that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rankwell.apps.search.access import OPEN, Access, Keys
from rankwell.apps.search.api.problems import ProblemError, problem_for
from rankwell.apps.search.process import spare_what_stays, take_turns
from rankwell.apps.search.service import Service, create_service
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import MissingExtraError, RankwellError
from rankwell.core.parameters import known_settings
from rankwell.index import Index, scheme_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


logger = logging.getLogger("rankwell.web.serve")
AT_ONCE = 16  # requests started per round of the event loop under load: some milliseconds of work
LOOPBACK = ("127.0.0.1", "localhost", "::1")
API = ("/api", "/health", "/ready", "/metrics", "/openapi.json")  # and all below /api/


def create_application(
    service: Service, when_ready: Callable[[], None] = lambda: None, all_indexes: str | None = None
) -> Site:
    """The server's ASGI application; `when_ready` is called when kernels and models are loaded.

    `all_indexes` is the address of the page with all indexes, where the server has several.
    """
    try:
        from rankwell.apps.search.api.routes import create_api
    except ImportError as error:
        raise MissingExtraError("the REST API", extra="web") from error
    keys = None if service.settings.keys is None else Keys(service.settings.keys)
    return Site(service, create_api(service), _page(service, keys, all_indexes), keys, when_ready)


class Site:
    """Passes each request to the API or to the page, counts it, and handles startup and shutdown."""

    def __init__(
        self, service: Service, api: ASGIApp, page: ASGIApp, keys: Keys | None, when_ready: Callable[[], None]
    ) -> None:
        self.service, self.api, self.page, self._when_ready = service, api, page, when_ready
        self._app = Access(self._dispatch, keys=keys, private=service.settings.private)
        self._hosts = own_hosts(service.settings)
        self._begin = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or handle the application's lifespan."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            if scope["path"] not in OPEN:
                await self._turn()
            await self._answer(scope, receive, send)

    async def _turn(self) -> None:
        """Wait for a turn: each round of the event loop starts a few requests, so that /health can answer between."""
        await self._begin.acquire()
        asyncio.get_running_loop().call_soon(self._begin.release)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, begun = 500, time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if self._hosts and host_of(scope) not in self._hosts:
                # DNS rebinding: a page of another site may have made its own name point here.
                expected = f"one of {', '.join(sorted(self._hosts))} (--base-url adds another)"
                words = "this server does not answer to that name"
                problem = ProblemError(421, words, expected, host_of(scope), "host")
                await problem.response()(scope, receive, watch)
            else:
                await self._app(scope, receive, watch)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self.service.metrics.requests.labels(route, status).inc()
            self.service.metrics.seconds.labels(route).observe(time.perf_counter() - begun)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope["path"].startswith("/api/") or scope["path"] in API
        await (self.api if is_api else self.page)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        warming = asyncio.create_task(self.warm_up())
        await receive()
        warming.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await warming
        await asyncio.to_thread(self.service.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def warm_up(self) -> None:
        """Load kernels and models in the background: /health answers from the start, /ready when this is done."""
        try:
            await asyncio.to_thread(self.service.searcher.warm_up)
        except RankwellError as error:
            logger.error("not ready: %s", error)  # noqa: TRY400 -- an operator's mistake, not a bug
            self.service.trouble = problem_for(self.service, error).error
        else:
            self.service.ready = True
            self._when_ready()


def _page(service: Service, keys: Keys | None, all_indexes: str | None) -> ASGIApp:
    """The search page with the middleware that all pages share."""
    from rankwell.apps.search.page import document_page, judgments_page, people, search_page, site
    from rankwell.apps.web import Pages, Sessions, secret_key
    from rankwell.apps.web.application import new_application

    parts = urlsplit(service.settings.base_url or "")
    root = parts.path.rstrip("/")
    sessions = Sessions(secret_key(), name="rankwell-serve", secure=parts.scheme == "https", path=root or "/")
    pages = Pages(sessions, templates=[site.TEMPLATES], static=[site.STATIC], root=root)
    pages.everywhere["site"] = service.settings.index_name
    if all_indexes is not None:
        pages.everywhere["all_indexes"] = all_indexes
    app = new_application("Rankwell", pages)
    app.state.search_page = site.Site(pages, service, people.People(pages, keys, service.settings.anonymous_thumbs))
    for part in (search_page, document_page, judgments_page, people):
        app.include_router(part.router)
    return app


def own_hosts(settings: ServeSettings) -> frozenset[str]:
    """Host names that a server on this machine only answers to; any name where it listens to others."""
    if settings.host not in LOOPBACK:
        return frozenset()
    named = urlsplit(settings.base_url or "").hostname
    return frozenset((*LOOPBACK, *((named,) if named else ())))


def host_of(scope: Scope) -> str:
    """The host name that a request asks for."""
    given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    try:
        return urlsplit(f"//{given}").hostname or ""
    except ValueError:
        return ""


def serve(index: Index | Path | str, **settings: Any) -> None:
    """Serve the search page and the REST API of an index until Ctrl-C; settings are those of `ServeSettings`.

    >>> serve("papers", port=8080, rerank="ms-marco-minilm-l12")
    """
    folder = index.path if isinstance(index, Index) else index
    wanted = known_settings(ServeSettings, settings)
    run(ServeSettings(Path(folder) if scheme_of(folder) is None else str(folder), **wanted))


def run(settings: ServeSettings, tell: Callable[[str], None] = print) -> None:
    """Serve until SIGINT or SIGTERM; `tell` gets the address. Requests and commits under way are finished first."""
    try:
        from rankwell.apps.web.application import serve as serve_until_stopped
    except ImportError as error:
        raise MissingExtraError("rankwell serve", extra="web") from error
    take_turns()
    service = create_service(settings)
    try:
        site = create_application(service, when_ready=spare_what_stays)
        spare_what_stays()
        tell(f"{settings.index_name}, {len(service.searcher.indexes.current):,} documents: {address(settings)}")
        if settings.keys is None or not Keys(settings.keys).all():
            tell("Reading only: nobody has a key to judge or write with (rankwell serve keys add NAME --role write).")
        serve_until_stopped(site, host=settings.host, port=settings.port, quiet=settings.quiet)
    finally:
        service.close()


def address(settings: ServeSettings) -> str:
    """The address at which people open the page."""
    if settings.base_url:
        return settings.base_url
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"
