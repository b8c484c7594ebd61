"""The server of `rankwell serve --new`: pages that make indexes, and the search page of each index below /i/NAME."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rankwell.apps.search.access import WRITE, Access, Key, Keys, needed_role
from rankwell.apps.search.api.problems import ProblemError
from rankwell.apps.search.application import (
    LOOPBACK,
    Site,
    address,
    create_application,
    host_of,
    own_hosts,
)
from rankwell.apps.search.new.uploads import NAME, Uploads
from rankwell.apps.search.process import take_turns
from rankwell.apps.search.service import create_service
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import MissingExtraError, RankwellError
from rankwell.index import is_index

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX = "/i/"


def check_reach(settings: ServeSettings) -> None:
    """Refuse to let others upload without a key: whoever reaches these pages can fill the disk."""
    if reached_by_others(settings) and not any(key.may(WRITE) for key in _keys(settings)):
        raise RankwellError(
            "--new: expected a key to write with where others reach the server (--host, --base-url), found none: "
            "rankwell serve keys add NAME --role write"
        )


def reached_by_others(settings: ServeSettings) -> bool:
    """Whether not only this machine reaches the server."""
    return settings.host not in LOOPBACK or settings.base_url is not None


def _keys(settings: ServeSettings) -> tuple[Key, ...]:
    return () if settings.keys is None else Keys(settings.keys).all()


class NewSite:
    """Passes each request to the pages that make indexes, or to the search page of an index, which it opens."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings, self.folder = settings, Path(settings.index)
        self.uploads = Uploads(self.folder)
        self._root = urlsplit(settings.base_url or "").path.rstrip("/")
        self._hosts = own_hosts(settings)
        self._sites: dict[str, Site] = {}
        self._opening = asyncio.Lock()
        self._warming = set[asyncio.Task[None]]()
        keys = None if settings.keys is None else Keys(settings.keys)
        self._pages = Access(_pages(self.uploads, settings, self._root), keys=keys, role=self._role)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or handle the application's lifespan."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._hosts and host_of(scope) not in self._hosts:
            problem = ProblemError(421, "this server does not answer to that name", found=host_of(scope), where="host")
            await problem.response()(scope, receive, send)
            return
        name, slash, rest = scope["path"].removeprefix(PREFIX).partition("/")
        if scope["path"].startswith(PREFIX) and slash and (site := await self._site(name)) is not None:
            raw = scope.get("raw_path") or scope["path"].encode()
            within = {"path": f"/{rest}", "raw_path": raw.removeprefix(f"{PREFIX}{name}".encode())}
            await site({**scope, **within}, receive, send)
            return
        await self._pages(scope, receive, send)

    def _role(self, method: str, path: str) -> str | None:
        """Making indexes needs a key to write where others reach the server."""
        if path.startswith("/static/") or path == "/favicon.ico":
            return None
        return WRITE if reached_by_others(self.settings) else needed_role(method, path, private=self.settings.private)

    async def _site(self, name: str) -> Site | None:
        """The search page of an index; None without one."""
        if not NAME.fullmatch(name):
            return None
        async with self._opening:
            if name not in self._sites and is_index(self.folder / name):
                self._sites[name] = await asyncio.to_thread(self._open, name)
                task = asyncio.create_task(self._sites[name].warm_up())
                self._warming.add(task)
                task.add_done_callback(self._warming.discard)
            return self._sites.get(name)

    def _open(self, name: str) -> Site:
        index = self.folder / name
        settings = replace(
            self.settings,
            index=index,
            base_url=f"{address(self.settings)}{PREFIX}{name}",
            judgments=self.settings.judgments and index.with_name(f"{name}.judgments.jsonl"),
        )
        return create_application(create_service(settings), all_indexes=f"{self._root}/")

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in list(self._warming):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(self.close)
        await send({"type": "lifespan.shutdown.complete"})

    def close(self) -> None:
        """Close the indexes, and remove uploads that were not indexed."""
        self.uploads.close()
        for site in self._sites.values():
            site.service.close()
        self._sites.clear()


def _pages(uploads: Uploads, settings: ServeSettings, root: str) -> ASGIApp:
    from rankwell.apps.search.new import pages as new
    from rankwell.apps.web import Pages, Sessions, secret_key
    from rankwell.apps.web.application import new_application
    from rankwell.apps.web.uploads import LARGEST_UPLOAD

    secure = urlsplit(settings.base_url or "").scheme == "https"
    sessions = Sessions(secret_key(), name="rankwell-new", secure=secure, path=root or "/")
    pages = Pages(sessions, templates=[new.TEMPLATES], static=[new.STATIC], root=root)
    app = new_application("Rankwell", pages, uploads={new.UPLOAD: LARGEST_UPLOAD})
    app.state.new_pages = new.NewPages(pages, uploads)
    app.include_router(new.router)
    return app


def run_new(settings: ServeSettings, tell: Callable[[str], None] = print) -> None:
    """Serve the pages that make indexes until SIGINT or SIGTERM; `settings.index` is the folder of the indexes."""
    try:
        from rankwell.apps.web.application import serve
    except ImportError as error:
        raise MissingExtraError("rankwell serve", extra="web") from error
    check_reach(settings)
    folder = Path(settings.index)
    if is_index(folder):
        raise RankwellError(f"{folder}: expected a folder for new indexes, found an index: rankwell serve {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RankwellError(f"{folder}: cannot write here: {error.strerror}") from error
    take_turns()
    site = NewSite(settings)
    tell(f"Upload a file and search it: {address(settings)} (indexes: {folder})")
    try:
        serve(site, host=settings.host, port=settings.port, quiet=settings.quiet)
    finally:
        site.close()
