"""Many neighbouring posting lists at once, decoded: what merging reads."""

from __future__ import annotations

import numpy as np

from rankwell.index.layout import LARGE, WINDOW, Array
from rankwell.index.postings import Triples
from rankwell.index.segment import Segment


def triples_of(segment: Segment, first: int, end: int) -> Triples:
    """The postings of the lists from `first` to before `end`; terms are counted from `first`."""
    offsets = segment.file["offsets"].part(first, end + 1).astype(np.int64)
    counts = np.diff(offsets)
    terms = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    frequencies = segment.file["frequencies"].part(int(offsets[0]), int(offsets[-1])).astype(np.uint32)
    large = np.flatnonzero(frequencies == LARGE)
    if len(large):
        at = np.searchsorted(segment.file["large_at"].all(), large + offsets[0])
        frequencies[large] = segment.file["large"].all()[at]
    return Triples(terms, _documents(segment, first, end, offsets), frequencies)


def positions_of(segment: Segment, first: int, end: int) -> Array:
    """The positions of the same postings, one after the other."""
    start, stop = (segment.file["position_starts"].one(number) for number in (first, end))
    return segment.file["positions"].part(start, stop)


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
