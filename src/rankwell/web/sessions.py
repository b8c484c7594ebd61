"""Who is at the other end: a signed cookie, and the token that each form of that browser must carry."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from rankwell.web.signing import Signer, same

if TYPE_CHECKING:
    from starlette.responses import Response

LIFETIME = 30 * 24 * 3600  # seconds after which one signs in anew


@dataclass(frozen=True)
class Session:
    """One browser: who signed in (None: nobody yet), when, and a random number that its forms are tied to.

    `generation` is a count kept with the person: when it grows, all their sessions are over.
    """

    person: str | None
    begun: int
    nonce: str
    generation: int = 0

    @classmethod
    def begin(cls, person: str | None = None, generation: int = 0) -> Session:
        """A new one; signing in always begins a new one, so that a session planted before is worth nothing."""
        return cls(person, int(time.time()), secrets.token_urlsafe(18), generation)


class Sessions:
    """Reads and writes sessions; what was changed, is too old or was signed by another key is nobody's."""

    def __init__(self, key: bytes, *, name: str, secure: bool, path: str = "/") -> None:
        self._signer, self._forms = Signer(key, f"session:{name}"), Signer(key, f"form:{name}")
        self.secure, self.path = secure, path
        # The prefix makes browsers refuse a cookie that another host of the domain has set (RFC 6265bis, 4.1.3).
        self.cookie = f"__Host-{name}" if secure and path == "/" else name

    def read(self, cookie: str | None) -> Session | None:
        """The session of a cookie."""
        value = self._signer.unsign(cookie) if cookie else None
        if value is None:
            return None
        session = Session(*json.loads(value))
        return session if time.time() - session.begun < LIFETIME else None

    def write(self, response: Response, session: Session) -> None:
        """Give the browser its cookie, out of reach of scripts and of other sites' forms."""
        value = json.dumps(astuple(session), separators=(",", ":")).encode()
        response.set_cookie(
            self.cookie,
            self._signer.sign(value),
            max_age=LIFETIME,
            path=self.path,
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )

    def token(self, session: Session) -> str:
        """What this session's forms carry."""
        return self._forms.mark(session.nonce.encode())

    def is_token(self, session: Session | None, token: str) -> bool:
        """Whether a form came from a page that we gave to this session."""
        return session is not None and same(self.token(session), token)
