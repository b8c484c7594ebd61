"""Signed values: what a browser carries for us, it cannot change."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from rankwell.core import ParameterError, home
from rankwell.web.private_files import create_private, read_private

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

    A value signed for one purpose (a session) is worth nothing for another (a form).
    """

    def __init__(self, key: bytes, purpose: str) -> None:
        self._key = hmac.digest(key, f"rankwell.web:{purpose}".encode(), hashlib.sha256)

    def mark(self, value: bytes) -> str:
        """The signature of a value, as text."""
        return _text(hmac.digest(self._key, value, hashlib.sha256))

    def sign(self, value: bytes) -> str:
        """The value with its signature, fit for a cookie."""
        return f"{_text(value)}.{self.mark(value)}"

    def unsign(self, signed: str) -> bytes | None:
        """The value, if we signed it."""
        text, _, mark = signed.partition(".")
        try:
            value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            return None
        return value if same(self.mark(value), mark) else None


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")
