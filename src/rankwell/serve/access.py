"""Who may do what: reading is open unless the operator closed it, writing needs a key."""

from __future__ import annotations

import base64
import binascii
import logging
from typing import TYPE_CHECKING

from rankwell.core import RankwellError
from rankwell.serve.api.problems import Problem, respond
from rankwell.serve.keys import READ, WRITE, Keys
from rankwell.web.rate_limit import RateLimit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger("rankwell.web.serve")

SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/health", "/ready", "/favicon.ico", "/robots.txt")
ASKING = ("/api/search",)  # a POST that only asks
WRONG_TRIES = 20  # a minute, from one place
HOW = "a key in the header Authorization: Bearer KEY, or X-API-Key: KEY"


class Access:
    """Stands before everything, so that no route can forget it.

    A browser cannot send a header of ours; on pages it asks for a password (HTTP's Basic), and the key is that.
    """

    def __init__(self, app: ASGIApp, *, keys: Keys | None, private: bool) -> None:
        self.app, self.keys, self.private = app, keys, private
        self._tries = RateLimit(WRONG_TRIES, 60)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            role = needed_role(scope["method"], scope["path"], private=self.private)
            problem = None if role is None else self._checked(scope, role)
            if problem is not None:
                await respond(problem)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _checked(self, scope: Scope, role: str) -> Problem | None:
        """As `_refused`; nobody passes where the keys cannot be read."""
        try:
            return self._refused(scope, role)
        except RankwellError as error:
            logger.error("%s", error)  # noqa: TRY400 -- the operator's to mend, and no fault of ours
            return Problem(503, "the keys cannot be read", headers={"retry-after": "60"})

    def _refused(self, scope: Scope, role: str) -> Problem | None:
        """Why a request may not pass; None where it may."""
        if role == WRITE and (self.keys is None or not self.keys.all()):
            way_out = "rankwell serve keys add NAME --role write"
            return Problem(403, "this server has no keys, so that nobody can write", f"a key ({way_out})", "none")
        secret = key_of(scope)
        if secret is None or self.keys is None:
            return _unknown(scope, "none")
        key = self.keys.find(secret)
        if key is None:
            return self._wrong(scope)
        if not key.may(role):
            return Problem(403, "this key may read and not write", f"a key with the role {role}", key.role)
        scope.setdefault("state", {})["key"] = key
        return None

    def _wrong(self, scope: Scope) -> Problem:
        """A key that is none of ours, counted by where it came from."""
        if self._tries.allows(scope["client"][0] if scope.get("client") else "unknown"):
            return _unknown(scope, "one that is not known here")
        return Problem(429, "too many wrong keys", HOW, "another wrong one", headers={"retry-after": "60"})


def needed_role(method: str, path: str, *, private: bool) -> str | None:
    """The role that a request needs, if any. Forms of the page carry a token of their own (`rankwell.web.bodies`)."""
    if path.startswith("/api/") and method not in SAFE and path not in ASKING:
        return WRITE
    if not private or path in OPEN or path.startswith("/static/"):
        return None
    return READ


def key_of(scope: Scope) -> str | None:
    """The key that a request shows."""
    headers: dict[bytes, str] = {name: value.decode("latin-1") for name, value in scope["headers"]}
    if b"x-api-key" in headers:
        return headers[b"x-api-key"].strip()
    kind, _, value = headers.get(b"authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
        except binascii.Error:
            return None
    return None


def _unknown(scope: Scope, found: str) -> Problem:
    challenge = "Bearer" if scope["path"].startswith("/api/") else 'Basic realm="rankwell", charset="UTF-8"'
    return Problem(401, "this needs a key", HOW, found, headers={"www-authenticate": challenge})
