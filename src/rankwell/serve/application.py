"""The whole server as one application: the API and the page side by side, behind the same door."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rankwell.clickhouse import is_remote
from rankwell.core import RankwellError
from rankwell.serve.access import OPEN, Access
from rankwell.serve.api.application import create_api, is_api
from rankwell.serve.api.errors import problem_for
from rankwell.serve.api.problems import Problem, respond
from rankwell.serve.documents_writer import DocumentsWriter
from rankwell.serve.judgments import JudgmentsFile
from rankwell.serve.keys import Keys
from rankwell.serve.notes import take_notes
from rankwell.serve.pool import SearchPool
from rankwell.serve.searcher import Searcher
from rankwell.serve.service import Service
from rankwell.serve.settings import ServeSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("rankwell.web.serve")
AT_ONCE = 16  # requests that begin in one round of the event loop, whatever flood comes: some milliseconds
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def create_service(settings: ServeSettings) -> Service:
    """Open the index and everything else that a server works with."""
    take_notes()
    searcher = Searcher(settings)
    searcher.check()
    pool = SearchPool(settings.search_threads, settings.waiting, settings.patience)
    judgments = None if settings.judgments is None else JudgmentsFile(settings.judgments)
    writer = None  # an index in ClickHouse is written by `rankwell push` alone
    if not is_remote(searcher.indexes.current):
        writer = DocumentsWriter(settings.index, lambda _: searcher.refresh())
    return Service(settings, searcher, pool, judgments, writer)


def create_application(service: Service, when_ready: Callable[[], None] = lambda: None) -> Site:
    """The application of a server; `when_ready` is called when kernels and models are loaded."""
    settings = service.settings
    keys = None if settings.keys is None else Keys(settings.keys)
    return Site(service, create_api(service), _page(service), keys, when_ready)


class Site:
    """Gives each request to the API or to the page, counts it, and starts and ends what they work with."""

    def __init__(
        self, service: Service, api: ASGIApp, page: ASGIApp, keys: Keys | None, when_ready: Callable[[], None]
    ) -> None:
        self.service, self.api, self.page, self._when_ready = service, api, page, when_ready
        self._app = Access(self._dispatch, keys=keys, private=service.settings.private)
        self._hosts = _own_hosts(service.settings)
        self._begin = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or live from start to end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            if scope["path"] not in OPEN:
                await self._turn()
            await self._answer(scope, receive, send)

    async def _turn(self) -> None:
        """Wait while others begin: in every round of the event loop a few do, and /health is heard in between."""
        await self._begin.acquire()
        asyncio.get_running_loop().call_soon(self._begin.release)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, begun = 500, time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if self._hosts and _host(scope) not in self._hosts:
                # A page of another site may have made its own name point here (DNS rebinding).
                expected = f"one of {', '.join(sorted(self._hosts))} (--base-url adds another)"
                problem = Problem(421, "this server does not answer to that name", expected, _host(scope), "host")
                await respond(problem)(scope, receive, watch)
            else:
                await self._app(scope, receive, watch)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self.service.requests.add(route, str(status))
            self.service.seconds.observe(time.perf_counter() - begun, route)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.api if is_api(scope["path"]) else self.page)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        warming = asyncio.create_task(self._warm_up())
        await receive()
        warming.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await warming
        await asyncio.to_thread(self.service.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def _warm_up(self) -> None:
        """Beside the first requests: /health answers from the start, /ready when this is done."""
        try:
            await asyncio.to_thread(self.service.searcher.warm_up)
        except RankwellError as error:
            logger.error("not ready: %s", error)  # noqa: TRY400 -- the operator's mistake, and no fault of ours
            self.service.trouble = problem_for(self.service, error).error
        else:
            self.service.ready = True
            self._when_ready()


def _page(service: Service) -> ASGIApp:
    """The search page, with the parts that all pages share."""
    from rankwell.serve.page import STATIC, TEMPLATES
    from rankwell.serve.page.routes import add_page
    from rankwell.web import Pages, Sessions, secret_key
    from rankwell.web.application import new_application

    parts = urlsplit(service.settings.base_url or "")
    root = parts.path.rstrip("/")
    sessions = Sessions(secret_key(), name="rankwell-serve", secure=parts.scheme == "https", path=root or "/")
    pages = Pages(sessions, templates=[TEMPLATES], static=[STATIC], root=root)
    app = new_application("Rankwell", pages)
    add_page(app, service, pages)
    return app


def _own_hosts(settings: ServeSettings) -> frozenset[str]:
    """The names that a server on this machine alone answers to; any, where it listens to others."""
    if settings.host not in LOOPBACK:
        return frozenset()
    named = urlsplit(settings.base_url or "").hostname
    return frozenset((*LOOPBACK, *((named,) if named else ())))


def _host(scope: Scope) -> str:
    given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    try:
        return urlsplit(f"//{given}").hostname or ""
    except ValueError:
        return ""
