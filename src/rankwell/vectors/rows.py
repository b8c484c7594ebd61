"""Rows of vectors in files, and their documents, by a 64-bit key of id and text."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankwell.core import Document, RankwellError, Template
from rankwell.core.arrays import Floats, Integers
from rankwell.index import Index
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.index.segment import Segment
from rankwell.vectors.manifest import INT16, FileEntry, Manifest
from rankwell.vectors.quantise import SHIFT, Bytes, Doubles, Group, planes, restored

Keys = npt.NDArray[np.uint64]

KEYS = "keys"
NOTHING = 0  # key of a document without text, which has no vector


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
            found = BlockFile(path, KEYS)[KEYS].all()
            if len(found) == segment.documents:
                return found
        keys = np.zeros(segment.documents, dtype=np.uint64)
        order = np.argsort(segment.stored, kind="stable")
        for number, place in zip(order.tolist(), segment.stored[order].tolist(), strict=True):
            document = segment.store[place]
            keys[number] = key_of(document.id, self._text(document))
        with contextlib.suppress(OSError):
            _write(path, keys)
        return keys


def key_of(docno: str, text: str) -> int:
    """The key of a document: a hash of its id and its text."""
    if not text:
        return NOTHING
    content = f"{docno}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") or 1


def _name(segment: Segment) -> str:
    return f"{Path(segment.entry.name).stem}-{segment.entry.checksum:08x}.{KEYS}"


def _write(path: Path, keys: Keys) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with BlockWriter(temporary, KEYS) as file:
            file.add(KEYS, keys)
            file.finish({})
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


KIND = "vectors"
AT_ONCE = 8192  # rows copied at once


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
        found: list[Piece] = []
        start = 0
        for chunk in self.chunks:
            found += chunk.pieces(start)
            start = found[-1].end if found else 0
        return found

    def numbers(self, rows: Integers) -> tuple[Doubles, Doubles]:
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

    def upper(self, rows: Integers) -> npt.NDArray[np.int8]:
        """The upper planes of these rows as signed bytes, each with its own scale."""
        found = np.zeros((len(rows), self.dimensions), dtype=np.int8)
        for piece in self.pieces:
            own = (rows >= piece.start) & (rows < piece.end)
            found[own] = (piece.high[rows[own] - piece.start].astype(np.int16) - SHIFT).astype(np.int8)
        return found


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


def write_merged(path: Path, rows: Rows, kept: npt.NDArray[np.bool_]) -> FileEntry:
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
    found: list[Group] = []
    for group, count in zip(groups, counts, strict=True):
        if found and found[-1].scale == group.scale:
            last = found.pop()
            found.append(Group(group.scale, max(last.error, group.error), last.rows + count))
        elif count:
            found.append(group._replace(rows=count))
    return found
