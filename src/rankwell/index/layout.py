"""What the files of an index have in common: sizes, names and the kinds of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

# Documents are scored in windows of so many, so that a window's accumulators stay in the processor's first cache.
WINDOW = 8192
# A term of at least this many documents, and of SPARSE a window, has its postings cut into windows.
FREQUENT = 256
SPARSE = 8
# Frequencies are kept in a byte; this value says: look among the large ones.
LARGE = 255
# The length of a field that a document does not have.
MISSING = np.uint32(0xFFFFFFFF)
# Terms whose whereabouts a reader remembers: queries may bring any number of words that are nowhere.
MOST_REMEMBERED = 500_000
# The pseudo-field of all indexed fields together.
COMBINED = ""

Array = np.ndarray[Any, Any]


def windows(documents: int) -> int:
    """How many windows a segment of so many documents has."""
    return -(-documents // WINDOW)


def frequent_from(documents: int) -> int:
    """From how many documents on a term is frequent, so that the windows' table stays small beside the postings."""
    return max(FREQUENT, SPARSE * windows(documents))
