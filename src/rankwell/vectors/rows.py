"""The files of vectors: a manifest, rows of vectors, and the keys of their documents.

The manifest says how vectors were made, and lists their files; replacing it is a commit. A row belongs to a document by
a 64-bit key of its id and text.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.core import Booleans, Document, Floats, Integers, RankwellError, Template, Values, atomic_write
from rankwell.index import Index
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.index.segment import Segment
from rankwell.vectors.quantise import SHIFT, Bytes, Group, planes, restored

FOLDER = "vectors"  # inside an index
NAME = "manifest"
MAGIC = "rankwell-vectors"
VERSION = 1
STORAGES = ("int16", "int8")
INT16, INT8 = STORAGES
Keys = np.ndarray[Any, np.dtype[np.uint64]]

KEYS, KIND = "keys", "vectors"
AT_ONCE = 8192  # rows copied at once
NOTHING = 0  # key of a document without text, which has no vector


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

    @classmethod
    def read(cls, folder: Path, fresh: Manifest | None = None) -> Manifest:
        """Read and check the manifest of a folder of vectors; `fresh` where there is none."""
        path = folder / NAME
        if fresh is not None and not path.exists():
            return fresh
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
        return cls(**parts, chunks=chunks, graph=FileEntry(**graph) if graph else None)

    def write(self, folder: Path) -> None:
        """Commit this manifest; afterwards it is on the disk, or nothing has changed."""
        body = orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2)
        with atomic_write(folder / NAME) as file:
            file.write(f"{MAGIC} {VERSION} {len(body)} {zlib.crc32(body):08x}\n".encode() + body)


def vector_folders(index: Path) -> dict[str, Path]:
    """The folders of vectors beside an index, by name."""
    return {manifest.parent.name: manifest.parent for manifest in sorted((index / FOLDER).glob(f"*/{NAME}"))}


@dataclass(frozen=True)
class Documents:
    """All documents of an index, by number."""

    index: Index
    template: Template | None  # all fields without one
    folder: Path

    def keys(self) -> Keys:
        """The key of each document."""
        parts = [self._kept(segment) for segment, _ in self.index.segments]
        return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])

    def texts(self, documents: Integers) -> Iterator[tuple[int, str]]:
        """The texts of these documents in storage order, which is the fastest to read."""
        for segment, base in self.index.segments:
            own = documents[(documents >= base) & (documents < base + segment.documents)] - base
            for number in own[np.argsort(segment.stored[own], kind="stable")].tolist():
                yield base + number, self._text(segment.store[int(segment.stored[number])])

    def files(self) -> set[str]:
        """The names of the files with this index's keys."""
        return {_name(segment) for segment, _ in self.index.segments}

    def _text(self, document: Document) -> str:
        return document.text().strip() if self.template is None else self.template.fill(document)

    def _kept(self, segment: Segment) -> Keys:
        """The keys of a segment, from its file or computed (and stored, if possible)."""
        path = self.folder / _name(segment)
        with contextlib.suppress(RankwellError, KeyError):  # a missing or damaged file is written again
            cached = BlockFile(path, KEYS)[KEYS].all()
            if len(cached) == segment.documents:
                return cached
        keys = self._computed(segment)
        with contextlib.suppress(OSError), replaced(path, KEYS) as file:
            file.add(KEYS, keys)
            file.finish({})
        return keys

    def _computed(self, segment: Segment) -> Keys:
        keys = np.zeros(segment.documents, dtype=np.uint64)
        order = np.argsort(segment.stored, kind="stable")
        for number, place in zip(order.tolist(), segment.stored[order].tolist(), strict=True):
            document = segment.store[place]
            keys[number] = key_of(document.id, self._text(document))
        return keys

    def verify(self) -> None:
        """Check every byte of the files with keys, and compare the keys with the documents; raise for a wrong one."""
        for segment, _ in self.index.segments:
            path = self.folder / _name(segment)
            if not path.exists():  # made when the vectors are next opened
                continue
            way_out = "delete this file: it is made anew from the documents"
            try:
                file = BlockFile(path, KEYS)
                file.verify()
                same = np.array_equal(file[KEYS].all(), self._computed(segment))
            except (RankwellError, KeyError) as error:
                reason = error if isinstance(error, RankwellError) else f"{path}: damaged: it has no keys"
                raise RankwellError(f"{reason}; {way_out}") from error
            if not same:
                raise RankwellError(f"{path}: damaged: the keys are not those of the documents; {way_out}")


def key_of(docno: str, text: str) -> int:
    """The key of a document: a hash of its id and its text."""
    if not text:
        return NOTHING
    content = f"{docno}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") or 1


def _name(segment: Segment) -> str:
    return f"{Path(segment.entry.name).stem}-{segment.entry.checksum:08x}.{KEYS}"


@contextlib.contextmanager
def replaced(path: Path, kind: str) -> Iterator[BlockWriter]:
    """A file of blocks, written under a temporary name and renamed at the end."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with BlockWriter(temporary, kind) as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one scale, beginning with row number `start`."""

    group: Group
    start: int
    high: Bytes  # (rows, dimensions)
    low: Bytes | None

    @property
    def end(self) -> int:
        """The number after the last row's."""
        return self.start + self.group.rows


class Chunk:
    """One file of vectors with their keys."""

    def __init__(self, folder: Path, entry: FileEntry, dimensions: int) -> None:
        self.file = BlockFile(folder / entry.name, KIND, size=entry.size, checksum=entry.checksum)
        self.groups = [Group(*group) for group in self.file.facts["groups"]]
        self._shape = (entry.rows, dimensions)
        if self.file.facts["dimensions"] != dimensions or sum(group.rows for group in self.groups) != entry.rows:
            raise RankwellError(f"{self.file.path}: damaged: expected {entry.rows} vectors of {dimensions} numbers")

    @property
    def keys(self) -> Keys:
        """The key of each row."""
        return self.file["keys"].all()

    def pieces(self, start: int) -> Iterator[Piece]:
        """The groups of rows, numbered from `start`; their bytes have been checked."""
        high = self.file["high"].all().reshape(self._shape)
        low = self.file["low"].all().reshape(self._shape) if "low" in self.file else None
        first = 0
        for group in self.groups:
            own = slice(first, first + group.rows)
            yield Piece(group, start + first, high[own], None if low is None else low[own])
            first += group.rows


class Rows:
    """All vectors of a commit, numbered across files."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.dimensions = manifest.dimensions
        self.chunks = [Chunk(folder, entry, manifest.dimensions) for entry in manifest.chunks]
        self.count = manifest.rows
        self.looked_at = 0  # numbers compared by searches so far

    @cached_property
    def keys(self) -> Keys:
        """The key of each row."""
        return np.concatenate([np.zeros(0, dtype=np.uint64), *(chunk.keys for chunk in self.chunks)])

    @cached_property
    def _sorted(self) -> tuple[Integers, Keys]:
        order = np.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    def find(self, keys: Keys) -> Integers:
        """The row of each key, or -1."""
        order, ordered = self._sorted
        if not len(order):
            return np.full(len(keys), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
        return np.where(ordered[places] == keys, order[places], -1)

    @cached_property
    def pieces(self) -> list[Piece]:
        """All groups of rows."""
        pieces: list[Piece] = []
        start = 0
        for chunk in self.chunks:
            pieces += chunk.pieces(start)
            start = pieces[-1].end if pieces else 0
        return pieces

    def numbers(self, rows: Integers) -> tuple[Values, Values]:
        """The integers of these rows, and the scale of each."""
        codes, scales = np.zeros((len(rows), self.dimensions)), np.zeros(len(rows))
        for piece in self.pieces:
            own = (rows >= piece.start) & (rows < piece.end)
            if own.any():
                places = rows[own] - piece.start
                codes[own] = restored(piece.high[places], None if piece.low is None else piece.low[places])
                scales[own] = piece.group.scale
        return codes, scales

    def vectors(self, rows: Integers) -> Floats:
        """The vectors of these rows."""
        codes, scales = self.numbers(rows)
        return (codes * scales[:, None]).astype(np.float32)

    def upper(self, rows: Integers) -> np.ndarray[Any, np.dtype[np.int8]]:
        """The upper planes of these rows as signed bytes, each with its own scale."""
        planes = np.zeros((len(rows), self.dimensions), dtype=np.int8)
        for piece in self.pieces:
            own = (rows >= piece.start) & (rows < piece.end)
            planes[own] = (piece.high[rows[own] - piece.start].astype(np.int16) - SHIFT).astype(np.int8)
        return planes


def write_chunk(path: Path, keys: Keys, vectors: Floats, storage: str) -> FileEntry:
    """Write vectors of length 1 to a file, and sync it."""
    made = planes(vectors)
    groups = made.groups if storage == INT16 else tuple(group._replace(error=0.0) for group in made.groups)
    with BlockWriter(path, KIND) as file:
        file.add("keys", keys[made.order])
        file.add("high", made.high)
        if storage == INT16:
            file.add("low", made.low)
        size, checksum = file.finish({"dimensions": vectors.shape[1], "groups": [list(group) for group in groups]})
    return FileEntry(path.name, size, checksum, len(keys))


def write_merged(path: Path, rows: Rows, kept: Booleans) -> FileEntry:
    """Write the kept rows of several files to one file, group by group."""
    pieces = sorted(rows.pieces, key=lambda piece: piece.group.scale)
    own = [np.flatnonzero(kept[piece.start : piece.end]) for piece in pieces]
    with BlockWriter(path, KIND) as file:
        file.begin("keys", np.uint64)
        for piece, places in zip(pieces, own, strict=True):
            file.append(np.ascontiguousarray(rows.keys[piece.start + places]).view(np.uint8).data)
        for name in ("high", "low") if all(piece.low is not None for piece in pieces) else ("high",):
            file.begin(name, np.uint8)
            for piece, places in zip(pieces, own, strict=True):
                plane: Bytes = getattr(piece, name)
                for start in range(0, len(places), AT_ONCE):
                    file.append(plane[places[start : start + AT_ONCE]].reshape(-1).data)
        groups = _joined([piece.group for piece in pieces], [len(places) for places in own])
        size, checksum = file.finish({"dimensions": rows.dimensions, "groups": [list(group) for group in groups]})
    return FileEntry(path.name, size, checksum, sum(group.rows for group in groups))


def _joined(groups: Sequence[Group], counts: Sequence[int]) -> list[Group]:
    """Join adjacent groups of the same scale, with the remaining rows of each."""
    joined: list[Group] = []
    for group, count in zip(groups, counts, strict=True):
        if joined and joined[-1].scale == group.scale:
            last = joined.pop()
            joined.append(Group(group.scale, max(last.error, group.error), last.rows + count))
        elif count:
            joined.append(group._replace(rows=count))
    return joined
