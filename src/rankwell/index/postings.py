"""Posting lists: the documents with a term and its frequencies, written and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankwell.core import RankwellError
from rankwell.index.blocks import LARGE, WINDOW, Array, BlockWriter, frequent_from, windows
from rankwell.index.segment import Segment

MOST_POSTINGS = (1 << 32) - 1
WORD = 64  # bits


class Triples(NamedTuple):
    """Postings as three columns: term, document, frequency."""

    terms: Array
    documents: Array
    frequencies: Array


class PostingsBuilder:
    """Collects sorted triples, field by field and term by term, and writes them."""

    def __init__(self, documents: int, terms: int) -> None:
        self._windows, self._terms = windows(documents), terms
        self._frequent_from = frequent_from(documents)
        self._counts: list[Array] = []
        self._tokens: list[Array] = []  # number of positions of each list
        self._parts: dict[str, list[Array]] = {
            name: []
            for name in ("frequent", "directory", "docs16", "docs32", "frequencies", "large_at", "large", "positions")
        }
        self._space = -1
        self._postings = self._narrow = 0

    def begin_space(self) -> None:
        """Begin the lists of the next field."""
        self._space += 1
        self._counts.append(np.zeros(self._terms, dtype=np.int64))
        self._tokens.append(np.zeros(self._terms, dtype=np.int64))

    def add(self, triples: Triples, positions: Array | None = None) -> None:
        """Add sorted postings of some terms of the field; a term must not be split."""
        terms, documents, frequencies = triples
        if not len(terms):
            return
        self._counts[self._space] += np.bincount(terms, minlength=self._terms)
        self._add_documents(terms, documents)
        large = np.flatnonzero(frequencies >= LARGE)
        self._keep("large_at", (large + self._postings).astype(np.uint32))
        self._keep("large", frequencies[large].astype(np.uint32))
        self._keep("frequencies", np.minimum(frequencies, LARGE).astype(np.uint8))
        if positions is not None:
            self._keep("positions", positions.astype(np.uint32, copy=False))
            weights = np.bincount(terms, weights=frequencies, minlength=self._terms)
            self._tokens[self._space] += weights.astype(np.int64)
        self._postings += len(terms)
        if self._postings > MOST_POSTINGS:
            raise RankwellError(
                "a segment holds at most 4,294,967,295 postings: leave these documents in several segments"
            )

    def write(self, file: BlockWriter, *, positions: bool) -> None:
        """Write all sections to the file."""
        file.add("offsets", _ends(self._counts).astype(np.uint32))
        if positions:
            file.add("position_starts", _ends(self._tokens))
        kinds = {"docs16": np.uint16, "frequencies": np.uint8}
        for name, parts in self._parts.items():
            if name != "positions" or positions:
                file.begin(name, kinds.get(name, np.uint32))
                for part in parts:
                    file.append(np.ascontiguousarray(part).view(np.uint8).data)
            parts.clear()

    def _add_documents(self, terms: Array, documents: Array) -> None:
        counts = np.bincount(terms, minlength=self._terms)
        frequent = np.flatnonzero(counts >= self._frequent_from)
        if not len(frequent):
            self._keep("docs32", documents.astype(np.uint32, copy=False))
            return
        wide = counts[terms] < self._frequent_from
        self._keep("docs32", documents[wide].astype(np.uint32, copy=False))
        narrow = documents[~wide]
        self._keep("docs16", (narrow % WINDOW).astype(np.uint16))
        row = np.repeat(np.arange(len(frequent)), counts[frequent])
        in_window = np.bincount(row * self._windows + narrow // WINDOW, minlength=len(frequent) * self._windows)
        directory = np.zeros((len(frequent), self._windows + 1), dtype=np.uint32)
        ends = self._narrow + np.cumsum(in_window).reshape(len(frequent), self._windows)
        directory[:, 1:] = ends
        directory[0, 0], directory[1:, 0] = self._narrow, ends[:-1, -1]
        self._keep("directory", directory.reshape(-1))
        self._keep("frequent", (frequent + self._space * self._terms).astype(np.uint32))
        self._narrow += len(narrow)

    def _keep(self, name: str, part: Array) -> None:
        if len(part):
            self._parts[name].append(part)


def _ends(counts: list[Array]) -> Array:
    return np.concatenate([np.zeros(1, dtype=np.int64), *counts]).cumsum().astype(np.uint64)


def ordered(triples: Triples) -> Triples:
    """Sort the triples by term, then by document.

    Packed into one number where they fit, because sorting numbers is several times as fast as an argsort.
    """
    terms, documents, frequencies = triples
    if not len(terms):
        return triples
    wide, narrow = (int(part.max()).bit_length() for part in (documents, frequencies))
    if int(terms.max()).bit_length() + wide + narrow > WORD:
        order = np.argsort((terms.astype(np.uint64) << np.uint64(32)) | documents.astype(np.uint64))
        return Triples(terms[order], documents[order], frequencies[order])
    packed = terms.astype(np.uint64)
    packed <<= np.uint64(wide)
    packed |= documents.astype(np.uint64)
    packed <<= np.uint64(narrow)
    packed |= frequencies.astype(np.uint64)
    packed.sort()
    frequencies = (packed & np.uint64((1 << narrow) - 1)).astype(np.uint32)
    packed >>= np.uint64(narrow)
    documents = (packed & np.uint64((1 << wide) - 1)).astype(np.uint32)
    packed >>= np.uint64(wide)
    return Triples(packed.astype(np.uint32), documents, frequencies)


def summed(triples: Triples) -> Triples:
    """Sorted triples with equal term and document (of several fields) summed."""
    terms, documents, frequencies = triples
    if not len(terms):
        return triples
    first = np.ones(len(terms), dtype=bool)
    first[1:] = (terms[1:] != terms[:-1]) | (documents[1:] != documents[:-1])
    starts = np.flatnonzero(first)
    return Triples(terms[starts], documents[starts], np.add.reduceat(frequencies, starts, dtype=np.uint32))


def triples_of(segment: Segment, first: int, end: int) -> Triples:
    """The postings of the lists `first` to `end` (exclusive); terms are counted from `first`."""
    offsets = segment.file["offsets"].part(first, end + 1).astype(np.int64)
    counts = np.diff(offsets)
    terms = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    frequencies = segment.frequencies(int(offsets[0]), int(offsets[-1]))
    return Triples(terms, _documents(segment, first, end, offsets), frequencies)


def positions_of(segment: Segment, first: int, end: int) -> Array:
    """The positions of the same postings, concatenated."""
    start, stop = (segment.file["position_starts"].one(number) for number in (first, end))
    return segment.file["positions"].part(start, stop)


def stretches(segment: Segment, space: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of posting lists of a field with about `size` postings each."""
    start, end = space * len(segment.terms), (space + 1) * len(segment.terms)
    offsets = segment.file["offsets"].part(start, end + 1).astype(np.int64)
    return ((start + first, start + last) for first, last in ranges(offsets, size))


def ranges(offsets: Array, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of lists with about `size` postings each; list i is at `offsets[i]` to `offsets[i + 1]` (exclusive)."""
    first = 0
    while first < len(offsets) - 1:
        end = max(first + 1, int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1)
        yield first, end
        first = end


def _documents(segment: Segment, first: int, end: int, offsets: Array) -> Array:
    frequent = segment.file["frequent"].all()
    low, high = np.searchsorted(frequent, [first, end]).tolist()
    width = segment.windows + 1
    rows = segment.file["directory"].part(low * width, high * width).reshape(-1, width).astype(np.int64)
    before = segment.file["directory"].one(low * width) if low < len(frequent) else len(segment.file["docs16"])
    narrow = int((rows[:, -1] - rows[:, 0]).sum())
    wide = segment.file["docs32"].part(int(offsets[0]) - before, int(offsets[-1]) - before - narrow)
    if not narrow:
        return wide
    in_windows = np.diff(rows, axis=1).reshape(-1)
    window = np.repeat(np.tile(np.arange(segment.windows, dtype=np.uint32), high - low), in_windows)
    is_narrow = np.zeros(end - first, dtype=bool)
    is_narrow[frequent[low:high] - first] = True
    chosen = np.repeat(is_narrow, np.diff(offsets))
    documents = np.empty(len(chosen), dtype=np.uint32)
    documents[chosen] = window * np.uint32(WINDOW) + segment.file["docs16"].part(before, before + narrow)
    documents[~chosen] = wide
    return documents
