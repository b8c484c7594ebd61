"""Sessions in signed cookies, form tokens, files that hold secrets, and limits of attempts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from rankwell.core import ParameterError, RankwellError, home, make_folder, sync_folder
from rankwell.core.errors import NotSavedError

if TYPE_CHECKING:
    from starlette.responses import Response


OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_private(path: Path) -> bytes:
    """Read a file; an error where others can read it."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & OTHERS:
                raise RankwellError(
                    f"{path}: expected a file that only its owner can read, found mode {stat.S_IMODE(mode):04o}: "
                    f"chmod 600 {path}"
                )
            return file.read()
    except OSError as error:
        raise RankwellError(f"{path}: cannot read this secret: {error.strerror}") from error


def create_private(path: Path, content: bytes) -> bytes:
    """Write a file that only the owner can read, unless it exists. Returns its content.

    The file is created atomically: two programs that start together get the same content.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
            sync_folder(path.parent)
        except FileExistsError:
            return read_private(path)
        return content
    finally:
        temporary.unlink(missing_ok=True)


ENVIRONMENT = "RANKWELL_SECRET_KEY"
SHORTEST_KEY = 32


def secret_key(file: Path | None = None) -> bytes:
    """The key of this installation: RANKWELL_SECRET_KEY, or a file in `home()` that only its owner can read."""
    given = os.environ.get(ENVIRONMENT)
    if given is not None:
        if len(given) < SHORTEST_KEY:
            expected = f"at least {SHORTEST_KEY} characters (try: openssl rand -hex 32)"
            raise ParameterError(ENVIRONMENT, expected=expected, found=f"{len(given)} characters")
        return given.encode()
    path = file or home() / "web" / "secret.key"
    return read_private(path) if path.exists() else create_private(path, secrets.token_hex(32).encode())


class Signer:
    """Signs values for one purpose: HMAC-SHA256 under a key that is derived from the installation's.

    A value signed for one purpose (a session) is not valid for another (a form).
    """

    def __init__(self, key: bytes, purpose: str) -> None:
        self._key = hmac.digest(key, f"rankwell.web:{purpose}".encode(), hashlib.sha256)

    def mark(self, value: bytes) -> str:
        """The signature of a value, as text."""
        return _text(hmac.digest(self._key, value, hashlib.sha256))

    def sign(self, value: bytes) -> str:
        """The value with its signature, for a cookie."""
        return f"{_text(value)}.{self.mark(value)}"

    def unsign(self, signed: str) -> bytes | None:
        """The value of a signed text; None where the signature is wrong."""
        text, _, mark = signed.partition(".")
        try:
            value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            return None
        return value if same(self.mark(value), mark) else None


def same(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


LIFETIME = 30 * 24 * 3600  # seconds until the next sign-in


@dataclass(frozen=True)
class Session:
    """A browser's session: who signed in (or None), when, and a random nonce for its form tokens.

    `generation` is a count kept with the person: raising it ends all their sessions.
    """

    person: str | None
    begun: int
    nonce: str
    generation: int = 0

    @classmethod
    def begin(cls, person: str | None = None, generation: int = 0) -> Session:
        """Start a new session; every sign-in does, which prevents session fixation."""
        return cls(person, int(time.time()), secrets.token_urlsafe(18), generation)


class EndedSessions:
    """Sessions that people ended by signing out, one line each: a copy of their cookie is worth nothing any more.

    The file is read again when it has grown, because several servers may share it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._size = 0
        self._nonces: dict[str, int] = {}  # by the nonce's hash: when its session began

    def add(self, session: Session) -> None:
        """End a session. It is on the disk when this returns."""
        line = f"{session.begun} {_nonce_hash(session)}\n".encode()
        try:
            make_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(self.path.parent)
        except OSError as error:
            raise NotSavedError(f"{self.path}: the session was not ended: {error.strerror}") from error

    def __contains__(self, session: Session) -> bool:
        with self._lock:
            self._read()
            return _nonce_hash(session) in self._nonces

    def _read(self) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size == self._size:
            return
        oldest = time.time() - LIFETIME
        for line in self.path.read_text(encoding="ascii", errors="replace").splitlines():
            begun, _, nonce = line.partition(" ")
            if begun.isdigit() and int(begun) > oldest:
                self._nonces[nonce] = int(begun)
        self._nonces = {nonce: begun for nonce, begun in self._nonces.items() if begun > oldest}
        self._size = size


def _nonce_hash(session: Session) -> str:
    return hashlib.sha256(session.nonce.encode()).hexdigest()[:32]


class Sessions:
    """Reads and writes sessions; changed, expired, ended and foreign cookies are invalid."""

    def __init__(self, key: bytes, *, name: str, secure: bool, path: str = "/") -> None:
        self._signer, self._forms = Signer(key, f"session:{name}"), Signer(key, f"form:{name}")
        self.ended = EndedSessions(home() / "sessions" / name)
        self.secure, self.path = secure, path
        # The prefix makes browsers refuse a cookie that another host of the domain has set (RFC 6265bis, 4.1.3).
        self.cookie = f"__Host-{name}" if secure and path == "/" else name

    def read(self, cookie: str | None) -> Session | None:
        """The valid session of a cookie, or None."""
        value = self._signer.unsign(cookie) if cookie else None
        if value is None:
            return None
        session = Session(*json.loads(value))
        if session.person is not None and session in self.ended:
            return None
        return session if time.time() - session.begun < LIFETIME else None

    def write(self, response: Response, session: Session) -> None:
        """Set the session cookie, HttpOnly and SameSite."""
        value = self._signer.sign(json.dumps(astuple(session), separators=(",", ":")).encode())
        response.set_cookie(
            self.cookie, value, LIFETIME, path=self.path, secure=self.secure, httponly=True, samesite="lax"
        )

    def token(self, session: Session) -> str:
        """The token for this session's forms."""
        return self._forms.mark(session.nonce.encode())

    def is_token(self, session: Session | None, token: str) -> bool:
        """Whether a form's token belongs to this session."""
        return session is not None and same(self.token(session), token)


MOST_KEYS = 50_000  # limits the memory to some megabytes; the oldest are dropped


class RateLimit:
    """At most `count` attempts within `seconds`, per key. Kept in memory: one process serves the pages.

    Keys are hashed, so that no typed address is kept.
    """

    def __init__(self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.count, self.seconds, self._clock = count, seconds, clock
        self._tries: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, key: str) -> bool:
        """Count one attempt; False where there were too many (refused ones do not count)."""
        name = hashlib.blake2b(key.encode(errors="replace"), digest_size=16).digest()
        now = self._clock()
        with self._lock:
            tries = self._tries.setdefault(name, deque())
            self._tries.move_to_end(name)
            while tries and tries[0] <= now - self.seconds:
                tries.popleft()
            if len(tries) >= self.count:
                return False
            tries.append(now)
            while len(self._tries) > MOST_KEYS:
                self._tries.popitem(last=False)
            return True
