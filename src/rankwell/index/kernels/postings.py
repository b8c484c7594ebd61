"""Single postings."""

# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package

from __future__ import annotations

import numpy as np

from rankwell.index.kernels.types import compiled
from rankwell.index.layout import LARGE, WINDOW, Array


@compiled
def frequency(frequencies: Array, large_at: Array, large: Array, posting: int) -> int:
    """How often the term is in the document of a posting."""
    found = np.int64(frequencies[posting])
    if found == LARGE:
        found = np.int64(large[np.searchsorted(large_at, posting)])
    return found


@compiled
def reached(documents: Array, low: int, high: int, wanted: int) -> int:
    """The first place from `low` to before `high` whose document is not below the wanted one."""
    while low < high:
        middle = (low + high) >> 1
        if np.int64(documents[middle]) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find(
    docs16: Array, docs32: Array, directory: Array, windows: int, row: int, first: int, size: int, number: int
) -> int:
    """The place of a document in a list (counted from the list's first), or -1."""
    if row >= 0:
        window = number // WINDOW
        start = np.int64(directory[row * (windows + 1) + window])
        end = np.int64(directory[row * (windows + 1) + window + 1])
        local = number - window * WINDOW
        at = reached(docs16, start, end, local)
        return at - first if at < end and np.int64(docs16[at]) == local else -1
    at = reached(docs32, first, first + size, number)
    return at - first if at < first + size and np.int64(docs32[at]) == number else -1
