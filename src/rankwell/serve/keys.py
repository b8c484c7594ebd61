"""API keys: who may read and who may write. A file keeps their hashes, never the keys."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import orjson

from rankwell.core import FormatError, ParameterError, RankwellError, atomic_write, home

READ, WRITE = "read", "write"
ROLES = (READ, WRITE)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PREFIX = "rankwell_"  # by which people and programs see what leaked, if one does
VERSION = 1
OWNER = 0o600  # hashes cannot be turned back, and are nobody else's business all the same


@dataclass(frozen=True)
class Key:
    """A key as the file has it. Keys are random and long, so that a plain SHA-256 cannot be turned back."""

    name: str
    role: str
    sha256: str
    made: str

    def may(self, role: str) -> bool:
        """Whether it opens what that role opens; who may write may read."""
        return self.role in {WRITE, role}


class Keys:
    """The keys of a file, read again when it changes: a key that was removed opens nothing from then on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._mark: tuple[int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def all(self) -> tuple[Key, ...]:
        """Every key, in the order in which they were made."""
        with self._lock:
            mark = self._marked()
            if mark != self._mark:
                self._keys = _read(self.path) if mark else ()
                self._mark = mark
            return self._keys

    def find(self, secret: str) -> Key | None:
        """The key that somebody shows. Every one is compared, in a time that tells nothing about any."""
        given = _hash(secret)
        found = None
        for key in self.all():
            if hmac.compare_digest(key.sha256, given):
                found = key
        return found

    def add(self, name: str, role: str) -> str:
        """Make a key; this is the only time that anybody sees it."""
        if not NAME.fullmatch(name):
            raise ParameterError("name", expected="letters, digits and . _ @ - (up to 64)", found=name)
        if role not in ROLES:
            raise ParameterError("--role", expected=" or ".join(ROLES), found=role)
        there = self.all()
        if any(key.name == name for key in there):
            raise ParameterError("name", expected="a name that no key has yet", found=name)
        secret = PREFIX + secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._write((*there, Key(name, role, _hash(secret), made)))
        return secret

    def remove(self, name: str) -> None:
        """A key of that name opens nothing any more."""
        there = self.all()
        left = tuple(key for key in there if key.name != name)
        if len(left) == len(there):
            raise ParameterError("name", expected=f"one of {', '.join(k.name for k in there) or 'no keys'}", found=name)
        self._write(left)

    def _write(self, keys: tuple[Key, ...]) -> None:
        content = {"version": VERSION, "keys": [asdict(key) for key in keys]}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                Path(file.name).chmod(OWNER)
                file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise RankwellError(f"{self.path}: cannot write the keys: {error.strerror}") from error

    def _marked(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RankwellError(f"{self.path}: cannot read the keys: {error.strerror}") from error
        return found.st_mtime_ns, found.st_ino


def default_keys() -> Path:
    """Where keys are unless said."""
    return home() / "serve" / "keys.json"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _read(path: Path) -> tuple[Key, ...]:
    try:
        content = orjson.loads(path.read_bytes())
        return tuple(Key(**entry) for entry in content["keys"])
    except OSError as error:
        raise RankwellError(f"{path}: cannot read the keys: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(path, None, expected="keys as `rankwell serve keys` writes them", found=error) from error
