"""The tie rule over texts in a buffer: higher score first, then the id that is greater byte by byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

Array = np.ndarray[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])

signed: Callable[[Any], int] = cast("Any", np.int64)

# ruff: noqa: PLR0917 -- kernels take plain arrays


def compiled(function: F) -> F:
    """Compile without the GIL, and cache the result on the disk."""
    return cast("F", numba.njit(nogil=True, cache=True, error_model="numpy")(function))


@compiled
def precedes(scores: Array, data: Array, begins: Array, lengths: Array, one: int, other: int) -> bool:
    """Whether the row `one` comes before `other`."""
    if scores[one] != scores[other]:
        return bool(scores[one] > scores[other])
    first, second = begins[one], begins[other]
    for at in range(min(lengths[one], lengths[other])):
        left, right = data[first + at], data[second + at]
        if left != right:
            return bool(left > right)
    return bool(lengths[one] > lengths[other])


@compiled
def unsettled(offsets: Array, scores: Array, data: Array, begins: Array, lengths: Array, wrong: Array) -> int:
    """Mark the queries whose documents are not in the order of the tie rule, and count them."""
    count = 0
    for query in range(len(offsets) - 1):
        for at in range(offsets[query] + 1, offsets[query + 1]):
            if scores[at] < scores[at - 1]:  # nearly always, and quicker than a call
                continue
            if precedes(scores, data, begins, lengths, at, at - 1):
                wrong[query] = 1
                count += 1
                break
    return count


@compiled
def settle(
    offsets: Array, scores: Array, data: Array, begins: Array, lengths: Array, wrong: Array, order: Array
) -> None:
    """Sort the rows of the marked queries in `order` (heap sort)."""
    for query in range(len(offsets) - 1):
        if not wrong[query]:
            continue
        start, size = offsets[query], offsets[query + 1] - offsets[query]
        for root in range(size // 2 - 1, -1, -1):
            _sink(order, start, root, size, scores, data, begins, lengths)
        for last in range(size - 1, 0, -1):
            order[start], order[start + last] = order[start + last], order[start]
            _sink(order, start, 0, last, scores, data, begins, lengths)


@compiled
def _sink(
    order: Array, start: int, root: int, size: int, scores: Array, data: Array, begins: Array, lengths: Array
) -> None:
    """Let the row at `root` sink below those that come after it."""
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and precedes(scores, data, begins, lengths, order[start + child], order[start + child + 1]):
            child += 1
        if not precedes(scores, data, begins, lengths, order[start + root], order[start + child]):
            return
        order[start + root], order[start + child] = order[start + child], order[start + root]
        root = child
