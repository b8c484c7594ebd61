"""Which documents of an index came from which source, kept beside its manifest, so that `sync` knows what is gone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import Document, RankwellError, atomic_write, fingerprint_file
from rankwell.index.store import encoded

NAME = "sources.json"
VERSION = 1
YOUNG = 2_000_000_000  # nanoseconds: a file that was just changed may change again without a later time

Contents = dict[str, str]  # id -> fingerprint of the document


@dataclass(frozen=True)
class FileMark:
    """What tells that a file is as it was: size and times are a hint that it is, its content decides."""

    size: int
    modified: int
    changed: int
    seen: int
    sha256: str

    @classmethod
    def of(cls, path: Path, before: FileMark | None = None) -> FileMark:
        """The mark of a file. Its content is not read where size and times are those of `before`."""
        seen = time.time_ns()
        try:
            status = path.stat()
            size, modified, changed = status.st_size, status.st_mtime_ns, status.st_ctime_ns
            same = before and (size, modified, changed) == (before.size, before.modified, before.changed)
            if before and same and max(modified, changed) < before.seen - YOUNG:
                return before
            return cls(size, modified, changed, seen, fingerprint_file(path))
        except OSError as error:
            raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error


@dataclass
class FileState:
    """The documents of one file at the last sync. Without a mark it is read again."""

    mark: FileMark | None = None
    documents: Contents = field(default_factory=dict)


@dataclass
class SourceState:
    """What a source gave at the last sync.

    `options` is the fingerprint of how it was read, `commit` that of the index afterwards. `pending` has the documents
    of a sync that was about to be committed: after a kill they may be in the index or not.
    """

    options: str = ""
    commit: str = ""
    files: dict[str, FileState] = field(default_factory=dict)
    pending: dict[str, list[str]] = field(default_factory=dict)

    def claims(self) -> Iterator[tuple[str, str]]:
        """Every document that the source may have put into the index: its id and fingerprint."""
        for state in self.files.values():
            yield from state.documents.items()
        for docno, contents in self.pending.items():
            yield from ((docno, content) for content in contents)


def document_fingerprint(document: Document) -> str:
    """The fingerprint of a document as the index stores it; that of a stored document is the same."""
    stored = encoded([[document.id, dict(document.fields), dict(document.metadata)]])
    return hashlib.blake2b(stored, digest_size=8).hexdigest()


def read_sources(folder: Path) -> dict[str, SourceState]:
    """The sources of an index by their names; none where nothing was synced."""
    path = folder / NAME
    try:
        return {name: _source(values) for name, values in orjson.loads(path.read_bytes())["sources"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"expected which documents came from which source, found something else ({error})"
        way_out = "remove it, and the next --sync compares with all documents of the source's ids"
        raise RankwellError(f"{path}: {problem}: {way_out}") from error


def write_sources(folder: Path, sources: dict[str, SourceState]) -> None:
    """Replace what is kept on the sources of an index."""
    content = {"version": VERSION, "sources": sources}
    with atomic_write(folder / NAME) as file:
        file.write(orjson.dumps(content))


def _source(values: Mapping[str, Any]) -> SourceState:
    files = {
        name: FileState(FileMark(**of["mark"]) if of["mark"] else None, dict(of["documents"]))
        for name, of in values["files"].items()
    }
    return SourceState(str(values["options"]), str(values["commit"]), files, dict(values["pending"]))
