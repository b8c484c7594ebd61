"""The manifest of a folder of vectors: how they were made, and their files. Replacing it is a commit."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import RankwellError, Template, atomic_write

FOLDER = "vectors"  # inside an index
NAME = "manifest"
MAGIC = "rankwell-vectors"
VERSION = 1
STORAGES = ("int16", "int8")
INT16, INT8 = STORAGES


@dataclass(frozen=True)
class FileEntry:
    """A file of a commit, with its size and checksum."""

    name: str
    size: int
    checksum: int
    rows: int


@dataclass(frozen=True)
class Manifest:
    """How vectors were made, and their files."""

    model: str
    encoder: Mapping[str, Any]  # settings for loading the model again
    made_with: str  # the encoder's fingerprint
    dimensions: int
    field: str | None = None
    document: str | None = None  # a template, such as '{title} {abstract}'
    storage: str = INT16
    commit: int = 0
    next: int = 1  # the number of the next file
    chunks: tuple[FileEntry, ...] = ()
    graph: FileEntry | None = None
    connected: bool = False  # whether the graph holds every vector

    @property
    def template(self) -> Template | None:
        """The template of the encoded text; None for all fields."""
        return None if self.document is None else Template(self.document)

    @property
    def rows(self) -> int:
        """Number of vectors, including those of deleted documents."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def files(self) -> set[str]:
        """All files of this commit, besides the manifest."""
        return {entry.name for entry in (*self.chunks, *((self.graph,) if self.graph else ()))}


def vector_folders(index: Path) -> dict[str, Path]:
    """The folders of vectors beside an index, by name."""
    found = sorted((index / FOLDER).glob(f"*/{NAME}"))
    return {file.parent.name: file.parent for file in found}


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a folder of vectors."""
    path = folder / NAME
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    words = head.decode("ascii", "replace").split(" ")
    if words[0] != MAGIC or len(words) != 4:  # noqa: PLR2004 -- magic, version, length, checksum
        raise RankwellError(f"{path}: expected the manifest of vectors, found something else")
    if words[1].isdigit() and int(words[1]) > VERSION:
        raise RankwellError(
            f"{path}: written by a newer Rankwell (format {words[1]}, this one reads {VERSION}): please update"
        )
    if words[1:] != [str(VERSION), str(len(body)), f"{zlib.crc32(body):08x}"]:
        raise RankwellError(f"{path}: damaged: length or checksum does not fit")
    parts = orjson.loads(body)
    chunks = tuple(FileEntry(**entry) for entry in parts.pop("chunks"))
    graph = parts.pop("graph")
    return Manifest(**parts, chunks=chunks, graph=FileEntry(**graph) if graph else None)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Commit this manifest; afterwards it is on the disk, or nothing has changed."""
    body = orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2)
    with atomic_write(folder / NAME) as file:
        file.write(f"{MAGIC} {VERSION} {len(body)} {zlib.crc32(body):08x}\n".encode() + body)
