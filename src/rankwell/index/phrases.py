"""Phrases: documents in which terms stand at given distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwell.index.layout import Array
from rankwell.index.segment import Segment

WIDE = np.int64(1 << 32)


def holding_phrase(segment: Segment, field: str, occurrences: Sequence[tuple[str, int, int, int]]) -> Array:
    """The documents of a segment that hold these terms in a field, as far apart as they are here."""
    nothing = np.zeros(0, dtype=np.int64)
    found: Array | None = None
    for term, position, *_ in occurrences:
        number = segment.list_of(term, field)
        if number is None:
            return nothing
        # Document and place of the phrase's beginning in one number, so that an intersection is one of numbers.
        begins = _places(segment, number) - position
        found = begins if found is None else np.intersect1d(found, begins, assume_unique=True)
        if not len(found):
            return nothing
    return nothing if found is None else np.unique(found // WIDE)


def _places(segment: Segment, number: int) -> Array:
    """Every occurrence of a list: document * 2^32 + position, shifted by 2^31 so that a beginning stays in its row."""
    start, end = (segment.file["position_starts"].one(at) for at in (number, number + 1))
    positions = segment.file["positions"].part(start, end).astype(np.int64)
    documents = np.repeat(segment.documents_of(number), segment.frequencies_of(number))
    return documents * WIDE + positions + WIDE // 2
