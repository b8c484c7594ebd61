"""What the kernels are given, and how they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from rankwell.index.layout import Array

# A posting list and its part in a query.
LIST = np.dtype(
    [
        ("start", np.int64),  # first posting
        ("size", np.int64),
        ("row", np.int64),  # in the directory; -1 for a rare list
        ("documents", np.int64),  # first document in docs16 or docs32
        ("space", np.int64),
        ("top", np.int64),  # the largest impact of the list
        ("group", np.int64),
        ("weight", np.float64),
        ("seed", np.float64),  # a score that k documents reach by this list alone, or 0
    ]
)

F = TypeVar("F", bound=Callable[..., Any])

# Signed, whatever it is made of: numba's `int` keeps unsigned numbers so, and those beside signed ones become floats.
whole: Callable[[Any], int] = cast("Any", np.int64)


class Arrays(NamedTuple):
    """The sections of a segment that scoring reads."""

    docs16: Array
    docs32: Array
    frequencies: Array
    large_at: Array
    large: Array
    directory: Array
    lengths: Array


class Impacts(NamedTuple):
    """The impacts of all postings (those of lists that have been prepared), and the largest in each window."""

    postings: Array
    windows: Array


class Lines(NamedTuple):
    """The posting lists of many queries: those of query i from `queries[i]` to before `queries[i + 1]`."""

    queries: Array
    lists: Array  # of LIST


class Model(NamedTuple):
    """BM25's parameters, and each space's average length."""

    k1: float
    b: float
    averages: Array


class Scope(NamedTuple):
    """The documents that may be found, and how many of them."""

    documents: int
    masked: bool
    mask: Array
    k: int


def compiled(function: F) -> F:
    """Compile without the interpreter's lock, and keep the result on the disk."""
    return cast("F", numba.njit(nogil=True, cache=True, error_model="numpy")(function))
