"""Read a segment: terms, posting lists, documents; everything is read on demand."""

from __future__ import annotations

from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.core import RankwellError
from rankwell.index.blocks import LARGE, MISSING, MOST_REMEMBERED, WINDOW, Array, BlockFile, Texts, windows
from rankwell.index.columns import Column, read_column
from rankwell.index.manifest import SegmentEntry
from rankwell.index.store import StoreReader

KIND = "segment"
DEAD = "dead"


class PostingRange(NamedTuple):
    """The position of a posting list: first posting, count, and documents in `docs16` or (row -1) in `docs32`."""

    start: int
    size: int
    row: int
    documents: int


class Segment:
    """One segment at a commit. Documents are numbered from 0, by id descending."""

    def __init__(self, folder: Path, entry: SegmentEntry) -> None:
        self.entry = entry
        self.file = BlockFile(folder / entry.name, KIND, size=entry.size, checksum=entry.checksum)
        self.documents = entry.documents
        if self.file.facts["documents"] != entry.documents:
            raise RankwellError(f"{self.file.path}: damaged: expected {entry.documents} documents")
        self.dead_file: BlockFile | None = None
        if entry.dead:
            self.dead_file = BlockFile(folder / entry.dead, DEAD, size=entry.dead_size, checksum=entry.dead_checksum)
        self.spaces: dict[str, int] = self.file.facts["spaces"]
        self.windows = windows(self.documents)
        self.docnos = Texts(self.file, "docnos")
        self.terms = Texts(self.file, "terms")
        self.store = StoreReader(self.file)
        self._term_number = lru_cache(MOST_REMEMBERED)(self.terms.find)
        self._places: dict[int, PostingRange] = {}
        self._live_counts: dict[int, int] = {}

    @cached_property
    def dead(self) -> Array | None:
        """Mask of the deleted documents; None where there are none."""
        if self.dead_file is None:
            return None
        return np.unpackbits(self.dead_file[DEAD].all(), count=self.documents).astype(bool)

    def alive(self) -> Array:
        """Mask of the documents that are not deleted."""
        return np.ones(self.documents, dtype=bool) if self.dead is None else ~self.dead

    def find(self, docno: str) -> int | None:
        """The number of a live document, or None."""
        number = self.docnos.find(docno, descending=True)
        return None if number is None or (self.dead is not None and self.dead[number]) else number

    def list_of(self, term: str, field: str) -> int | None:
        """The number of the posting list of a term in a field, or None."""
        number = self._term_number(term) if field in self.spaces else None
        if number is None:
            return None
        number += self.spaces[field] * len(self.terms)
        return number if self.place(number).size else None

    def place(self, number: int) -> PostingRange:
        """The position of a posting list."""
        if (known := self._places.get(number)) is not None:
            return known
        start, end = self.file["offsets"].part(number, number + 2).tolist()
        frequent, width = self.file["frequent"].all(), self.windows + 1
        row = int(np.searchsorted(frequent, number))
        before = self.file["directory"].one(row * width) if row < len(frequent) else len(self.file["docs16"])
        documents = row, before
        if row == len(frequent) or frequent[row] != number:
            documents = -1, start - before
        place = self._places[number] = PostingRange(start, end - start, *documents)
        return place

    def documents_of(self, number: int) -> Array:
        """The documents of a posting list, ascending, including deleted ones."""
        place = self.place(number)
        if place.row < 0:
            return self.file["docs32"].part(place.documents, place.documents + place.size).astype(np.int64)
        low = self.file["docs16"].part(place.documents, place.documents + place.size)
        ends = self.directory_of(place.row).astype(np.int64)
        return np.repeat(np.arange(self.windows), np.diff(ends)) * WINDOW + low

    def directory_of(self, row: int) -> Array:
        """The start of each window of a frequent list."""
        width = self.windows + 1
        return self.file["directory"].part(row * width, (row + 1) * width)

    def frequencies_of(self, number: int) -> Array:
        """The term's frequency in each document of the list."""
        place = self.place(number)
        return self.frequencies(place.start, place.start + place.size)

    def frequencies(self, start: int, end: int) -> Array:
        """The frequencies of the postings from `start` to `end` (exclusive)."""
        frequencies = self.file["frequencies"].part(start, end).astype(np.uint32)
        large = np.flatnonzero(frequencies == LARGE)
        if len(large):
            at = np.searchsorted(self.file["large_at"].all(), large + start)
            frequencies[large] = self.file["large"].all()[at]
        return frequencies

    def check_list(self, number: int) -> None:
        """Check all bytes of a posting list, before compiled code reads it."""
        place = self.place(number)
        self.file["frequencies"].part(place.start, place.start + place.size)
        self.file["docs16" if place.row >= 0 else "docs32"].part(place.documents, place.documents + place.size)
        if place.row >= 0:
            self.directory_of(place.row)

    def live_count(self, number: int) -> int:
        """The number of the list's documents that are not deleted."""
        if self.dead is None:
            return self.place(number).size
        if number not in self._live_counts:
            self._live_counts[number] = int((~self.dead[self.documents_of(number)]).sum())
        return self._live_counts[number]

    @cached_property
    def lengths(self) -> Array:
        """Document lengths, one row per space; MISSING for a document without the field."""
        rows = max(self.spaces.values()) + 1
        return self.file["lengths"].all().reshape(rows, self.documents)

    def lengths_of(self, field: str) -> Array:
        """The document lengths of a field, 0 where it is missing."""
        if field not in self.spaces:
            return np.zeros(self.documents, dtype=np.uint32)
        lengths = self.lengths[self.spaces[field]]
        return np.where(lengths == MISSING, np.uint32(0), lengths)

    @cached_property
    def stored(self) -> Array:
        """The number of each document in the store."""
        return self.file["stored"].all()

    def column(self, name: str) -> Column:
        """A metadata column."""
        return read_column(self.file, name, self.documents)

    def verify(self) -> None:
        """Check every byte of the file."""
        self.file.verify()
        if self.dead_file is not None:
            self.dead_file.verify()
