"""The rows of vectors in the files of a commit, and how such files are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats, Integers
from rankwell.dense.documents import Keys
from rankwell.dense.manifest import INT16, FileEntry, Manifest
from rankwell.dense.quantise import SHIFT, Bytes, Doubles, Group, planes, restored
from rankwell.index.blocks import BlockFile, BlockWriter

KIND = "vectors"
AT_ONCE = 8192  # rows that are copied at a time


@dataclass(frozen=True)
class Piece:
    """Rows of one scale that lie side by side, beginning with the row of number `start`."""

    group: Group
    start: int
    high: Bytes  # (rows, dimensions)
    low: Bytes | None

    @property
    def end(self) -> int:
        """The number of the row after the last."""
        return self.start + self.group.rows


class Chunk:
    """One file of vectors."""

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
        """The groups of rows, counted from `start`; everything in them has been checked."""
        high = self.file["high"].all().reshape(self._shape)
        low = self.file["low"].all().reshape(self._shape) if "low" in self.file else None
        first = 0
        for group in self.groups:
            own = slice(first, first + group.rows)
            yield Piece(group, start + first, high[own], None if low is None else low[own])
            first += group.rows


class Rows:
    """All vectors of a commit, numbered through."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.dimensions = manifest.dimensions
        self.chunks = [Chunk(folder, entry, manifest.dimensions) for entry in manifest.chunks]
        self.count = manifest.rows
        self.looked_at = 0  # numbers, by searches so far

    @cached_property
    def keys(self) -> Keys:
        """The key of each row."""
        return np.concatenate([np.zeros(0, dtype=np.uint64), *(chunk.keys for chunk in self.chunks)])

    @cached_property
    def _sorted(self) -> tuple[Integers, Keys]:
        order = np.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    def find(self, keys: Keys) -> Integers:
        """The row of each key, -1 where there is none."""
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
        """The whole numbers of these rows, and the scale of each."""
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
        """The upper planes of these rows as signed bytes: each vector at a scale of its own."""
        found = np.zeros((len(rows), self.dimensions), dtype=np.int8)
        for piece in self.pieces:
            own = (rows >= piece.start) & (rows < piece.end)
            found[own] = (piece.high[rows[own] - piece.start].astype(np.int16) - SHIFT).astype(np.int8)
        return found


def write_chunk(path: Path, keys: Keys, vectors: Floats, storage: str) -> FileEntry:
    """Write vectors of length 1 as a file, and bring it to the disk."""
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
    """Write those rows of several files that are kept as one file, group by group."""
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
    """Neighbours of the same scale as one group, with what is left of each."""
    found: list[Group] = []
    for group, count in zip(groups, counts, strict=True):
        if found and found[-1].scale == group.scale:
            last = found.pop()
            found.append(Group(group.scale, max(last.error, group.error), last.rows + count))
        elif count:
            found.append(group._replace(rows=count))
    return found
