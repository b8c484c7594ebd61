"""What the owner of a search says about queries, in files: synonyms, and results that are pinned or hidden.

A file that changes is read again at the next search. One that cannot be read any more is logged, and what was read
before stays.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from rankwell.apps.search.judgments import query_id
from rankwell.core import FormatError, RankwellError, check_id
from rankwell.retrieve.synonyms import Expansion, Synonyms, read_synonyms

log = logging.getLogger("rankwell.web.serve")
T = TypeVar("T")
NAMES = ("words", "pin", "hide")
EXPECTED = '[[query]] with words = "fever" (or several in brackets), pin = ["d7"] and hide = ["d9"]'


class Placed(NamedTuple):
    """The documents that come first for a query, in this order, and those that are never shown for it."""

    pinned: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


NOTHING = Placed()


def read_pins(path: Path) -> Mapping[str, Placed]:
    """Pinned and hidden documents by the query's id: wordings that differ in case or blanks are one query."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FormatError(path, None, expected=EXPECTED, found=error) from error
    if set(entries) - {"query"} or not isinstance(entries.get("query", []), list):
        raise FormatError(path, None, expected=EXPECTED, found=", ".join(entries))
    placed: dict[str, Placed] = {}
    for entry in entries.get("query", []):
        wordings, pin, hide = (_texts(path, entry, name) for name in NAMES)
        for words in wordings:
            placed[query_id(words)] = Placed(tuple(dict.fromkeys(map(check_id, pin))), frozenset(hide) - set(pin))
    return placed


def _texts(path: Path, entry: Any, name: str) -> list[str]:
    """A text or a list of texts, by its name."""
    given = entry.get(name, []) if isinstance(entry, dict) and not set(entry) - set(NAMES) else None
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise FormatError(path, None, expected=EXPECTED, found=entry)
    return texts


class WatchedFile(Generic[T]):
    """What a file says, read again when it changes."""

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        self._path, self._read, self._lock = path, read, Lock()
        self._mark = self._marked()
        self._content = read(path)

    @property
    def content(self) -> T:
        """What the file says now, or said before it could not be read."""
        mark = self._marked()
        if mark != self._mark:
            with self._lock:
                self._mark = mark
                try:
                    self._content = self._read(self._path)
                except RankwellError as error:
                    log.error("not read again: %s", error)  # noqa: TRY400 -- an operator's mistake, not a bug
        return self._content

    def _marked(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size


@dataclass(frozen=True, eq=False)
class Curation:
    """The owner's files, as far as there are some."""

    synonyms: WatchedFile[Synonyms] | None = None
    pins: WatchedFile[Mapping[str, Placed]] | None = None

    @classmethod
    def open(cls, synonyms: Path | None, pins: Path | None) -> Curation:
        """Read the files; an error names the line."""
        return cls(
            None if synonyms is None else WatchedFile(synonyms, read_synonyms),
            None if pins is None else WatchedFile(pins, read_pins),
        )

    def expand(self, query: str, match: str) -> Expansion:
        """A query with its synonyms."""
        known = None if self.synonyms is None else self.synonyms.content
        return Expansion(match, (), query) if known is None else known.expand(query, match)

    def placed(self, query: str) -> Placed:
        """The documents that are pinned and hidden for a query."""
        return NOTHING if self.pins is None else self.pins.content.get(query_id(query), NOTHING)
