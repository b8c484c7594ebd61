"""API keys and their roles; a file keeps their hashes."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import orjson

from rankwell.apps.search.api.problems import ProblemError
from rankwell.apps.web import RateLimit
from rankwell.core import FormatError, ParameterError, RankwellError, atomic_write, home, make_folder

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


logger = logging.getLogger("rankwell.web.serve")
READ, JUDGE, WRITE, ADMIN = "read", "judge", "write", "admin"
ROLES = (READ, JUDGE, WRITE, ADMIN)  # each may do what those before it may
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PREFIX = "rankwell_"  # prefix by which people and secret scanners recognise a leaked key
VERSION = 1
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/health", "/ready", "/favicon.ico", "/robots.txt")
ASKING = ("/api/search",)  # a POST that changes nothing
JUDGMENTS = "/api/judgments"  # thumbs; they show what people searched for
WRONG_TRIES = 20  # per minute and client address
HOW = "a key in the header Authorization: Bearer KEY, or X-API-Key: KEY"
OWNER = 0o600  # the hashes cannot be reversed, but other users have no need to read them


@dataclass(frozen=True)
class Key:
    """A key as stored in the file. Keys are long and random, so a plain SHA-256 cannot be reversed."""

    name: str
    role: str
    sha256: str
    made: str
    session: int = 0  # sessions that were begun with another number are ended

    def may(self, role: str) -> bool:
        """Whether the key grants that role: a later role of `ROLES` includes the earlier ones."""
        return self.role in ROLES[ROLES.index(role) :]


class Keys:
    """The keys of a file, read again when the file changes: a removed key is refused from then on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._mark: tuple[int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def all(self) -> tuple[Key, ...]:
        """All keys, oldest first."""
        with self._lock:
            mark = self._marked()
            if mark != self._mark:
                self._keys = _read(self.path) if mark else ()
                self._mark = mark
            return self._keys

    def find(self, secret: str) -> Key | None:
        """The key with that secret, or None. All keys are compared in constant time, against timing attacks."""
        given = _hash(secret)
        matching = None
        for key in self.all():
            if hmac.compare_digest(key.sha256, given):
                matching = key
        return matching

    def named(self, name: str) -> Key | None:
        """The key of that name, or None."""
        return next((key for key in self.all() if key.name == name), None)

    def add(self, name: str, role: str) -> str:
        """Create a key and return its secret, which is shown only this once."""
        if not NAME.fullmatch(name):
            raise ParameterError("name", expected="letters, digits and . _ @ - (up to 64)", found=name)
        if role not in ROLES:
            raise ParameterError("--role", expected=" or ".join(ROLES), found=role)
        there = self.all()
        if self.named(name) is not None:
            raise ParameterError("name", expected="a name that no key has yet", found=name)
        secret = PREFIX + secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        # A number of its own: a session of a removed key is not one of a new key of the same name.
        self._write((*there, Key(name, role, _hash(secret), made, secrets.randbits(32))))
        return secret

    def remove(self, name: str) -> None:
        """Remove the key of that name: it is refused from now on, and its sessions have ended."""
        known = self._known(name)
        self._write(tuple(key for key in self.all() if key != known))

    def sign_out(self, name: str) -> None:
        """End all sessions that were begun with the key of that name; the key itself stays."""
        known = self._known(name)
        ended = replace(known, session=secrets.randbits(32))
        self._write(tuple(ended if key == known else key for key in self.all()))

    def _known(self, name: str) -> Key:
        key = self.named(name)
        if key is None:
            names = ", ".join(key.name for key in self.all()) or "no keys"
            raise ParameterError("name", expected=f"one of {names}", found=name)
        return key

    def _write(self, keys: tuple[Key, ...]) -> None:
        content = {"version": VERSION, "keys": [asdict(key) for key in keys]}
        try:
            make_folder(self.path.parent)
            with atomic_write(self.path) as file:
                Path(file.name).chmod(OWNER)
                file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise RankwellError(f"{self.path}: cannot write the keys: {error.strerror}") from error

    def _marked(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RankwellError(f"{self.path}: cannot read the keys: {error.strerror}") from error
        return status.st_mtime_ns, status.st_ino


def default_keys() -> Path:
    """Default path of the key file."""
    return home() / "serve" / "keys.json"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _read(path: Path) -> tuple[Key, ...]:
    try:
        keys = tuple(Key(**entry) for entry in orjson.loads(path.read_bytes())["keys"])
    except OSError as error:
        raise RankwellError(f"{path}: cannot read the keys: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(path, None, expected="keys as `rankwell serve keys` writes them", found=error) from error
    for key in keys:
        if key.role not in ROLES:
            raise FormatError(path, None, expected=f"the role {' or '.join(ROLES)} of {key.name}", found=key.role)
    return keys


NeededRole = Callable[[str, str], str | None]  # of a method and a path


class Access:
    """Middleware that checks the API key of every request, so that no route can forget it.

    A browser cannot send our header; on pages it asks for a password (HTTP Basic), and the key is the password.
    `role` says which role a method and a path need, where that is not what the search page and its API need.
    """

    def __init__(
        self, app: ASGIApp, *, keys: Keys | None, private: bool = False, role: NeededRole | None = None
    ) -> None:
        self.app, self.keys = app, keys
        self._role = role or partial(needed_role, private=private)
        self._tries = RateLimit(WRONG_TRIES, 60)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it with a problem response."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except ProblemError as problem:
                await problem.response()(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Raise the reason to refuse the request; where the key file cannot be read, everything is refused."""
        role = self._role(scope["method"], scope["path"])
        secret = key_of(scope)
        if role is None:
            self._recognise(scope, secret)
            return
        try:
            if role != READ and (self.keys is None or not self.keys.all()):
                way_out = f"a key (rankwell serve keys add NAME --role {role})"
                raise ProblemError(403, "this server has no keys, so that nobody may do this", way_out, "none")
            if secret is None or self.keys is None:
                raise _unknown(scope, "none")
            key = self.keys.find(secret)
        except RankwellError as error:
            logger.error("%s", error)  # noqa: TRY400 -- an operator's mistake, not a bug
            raise ProblemError(503, "the keys cannot be read", headers={"retry-after": "60"}) from error
        if key is None:
            if self._tries.allows(scope["client"][0] if scope.get("client") else "unknown"):
                raise _unknown(scope, "one that is not known here")
            raise ProblemError(429, "too many wrong keys", HOW, "another wrong one", headers={"retry-after": "60"})
        if not key.may(role):
            allowed = " or ".join(ROLES[ROLES.index(role) :])
            raise ProblemError(403, "this key may not do this", f"a key with the role {allowed}", key.role)
        scope.setdefault("state", {})["key"] = key

    def _recognise(self, scope: Scope, secret: str | None) -> None:
        """Note whose key was sent where none is needed; another one, perhaps of a proxy, is no fault there."""
        if secret is None or self.keys is None:
            return
        with contextlib.suppress(RankwellError):
            scope.setdefault("state", {})["key"] = self.keys.find(secret)


def needed_role(method: str, path: str, *, private: bool) -> str | None:
    """The role that a request needs, or None. The page's forms carry a token (`rankwell.apps.web.middleware`)."""
    if path == JUDGMENTS:
        return ADMIN if method in SAFE else JUDGE
    if path.startswith("/api/") and method not in SAFE and path not in ASKING:
        return WRITE
    if not private or path in OPEN or path.startswith("/static/"):
        return None
    return READ


def key_of(scope: Scope) -> str | None:
    """The API key in the request's headers, or None."""
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


def _unknown(scope: Scope, found: str) -> ProblemError:
    challenge = "Bearer" if scope["path"].startswith("/api/") else 'Basic realm="rankwell", charset="UTF-8"'
    return ProblemError(401, "this needs a key", HOW, found, headers={"www-authenticate": challenge})
