"""The manifest: the one file that says what an index consists of. Replacing it is what a commit is."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import RankwellError, atomic_write

NAME = "manifest"
MAGIC = "rankwell-index"
VERSION = 1


@dataclass(frozen=True)
class SegmentEntry:
    """A segment as one commit sees it: its file, and which of its documents are deleted."""

    name: str
    size: int
    checksum: int
    documents: int
    live: int
    holders: Mapping[str, int]  # field -> live documents that have it
    tokens: Mapping[str, int]  # field -> tokens in them
    dead: str | None = None  # the file that marks the deleted documents
    dead_size: int = 0
    dead_checksum: int = 0

    @property
    def files(self) -> set[str]:
        """The files that this entry needs."""
        return {self.name, self.dead} if self.dead else {self.name}


@dataclass(frozen=True)
class Manifest:
    """What an index consists of, and how its documents are to be read."""

    analyzer: Mapping[str, Any]
    fields: tuple[str, ...] | None = None  # None: every field that comes
    metadata: tuple[str, ...] = ()
    positions: bool = False
    commit: int = 0
    next: int = 1  # the number of the next file
    segments: tuple[SegmentEntry, ...] = field(default=())

    @property
    def files(self) -> set[str]:
        """Every file that belongs to this commit, besides the manifest."""
        return {name for segment in self.segments for name in segment.files}

    @property
    def known_fields(self) -> tuple[str, ...]:
        """The fields that are indexed: those that were asked for, or those that were met."""
        if self.fields is not None:
            return self.fields
        return tuple(dict.fromkeys(name for segment in self.segments for name in segment.holders if name))

    def fingerprint(self) -> str:
        """A name for the content of this commit; the checksums in the manifest cover all of it."""
        return hashlib.sha256(_body(self)).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index, checked."""
    path = folder / NAME
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        raise RankwellError(f"{folder}: expected an index, found {_instead(folder)}") from None
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    words = head.decode("ascii", "replace").split(" ")
    if words[0] != MAGIC or len(words) != 4:  # noqa: PLR2004 -- magic, version, length, checksum
        raise RankwellError(f"{path}: expected the manifest of an index, found something else")
    if words[1].isdigit() and int(words[1]) > VERSION:
        raise RankwellError(
            f"{path}: written by a newer Rankwell (format {words[1]}, this one reads {VERSION}): please update"
        )
    if words[1:] != [str(VERSION), str(len(body)), f"{zlib.crc32(body):08x}"]:
        raise RankwellError(f"{path}: damaged: length or checksum does not fit")
    return _parsed(orjson.loads(body))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make this the state of the index; afterwards it is on the disk or nothing has changed."""
    body = _body(manifest)
    with atomic_write(folder / NAME) as file:
        file.write(f"{MAGIC} {VERSION} {len(body)} {zlib.crc32(body):08x}\n".encode() + body)


def _body(manifest: Manifest) -> bytes:
    return orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2)


def _parsed(body: dict[str, Any]) -> Manifest:
    segments = tuple(SegmentEntry(**entry) for entry in body.pop("segments"))
    fields = body.pop("fields")
    metadata = tuple(body.pop("metadata"))
    return Manifest(**body, fields=None if fields is None else tuple(fields), metadata=metadata, segments=segments)


def _instead(folder: Path) -> str:
    if not folder.exists():
        return "nothing there"
    return "a folder without a manifest" if folder.is_dir() else "a file"


def is_index(folder: Path) -> bool:
    """Whether there is an index in a folder."""
    return (folder / NAME).is_file()
