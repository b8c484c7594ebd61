"""The compiled heart of a search. Loaded by `rankwell.index.loading` only, because numba takes its time.

Pruned search works with impacts: for each posting tf / (tf + norm) rounded up to a 16-bit number, so that sums of
impacts are never below the true score. Documents whose sum cannot reach the k-th best are passed over; those that
remain at the end are scored exactly, in float64 and in the order of the query's terms. So the result is that of
scoring everything, to the last bit.

Inner functions take plain arrays and numbers, many of them: a tuple of arrays would be taken apart, counted and put
together again at every call, which costs more than the call does.
"""

from __future__ import annotations

from rankwell.index.kernels.conjunction import search_and
from rankwell.index.kernels.disjunction import search_or
from rankwell.index.kernels.exhaustive import search_all
from rankwell.index.kernels.impacts import prepare
from rankwell.index.kernels.keys import decode
from rankwell.index.kernels.types import LIST, Arrays, Impacts, Lines, Model, Scope

__all__ = [
    "LIST",
    "Arrays",
    "Impacts",
    "Lines",
    "Model",
    "Scope",
    "decode",
    "prepare",
    "search_all",
    "search_and",
    "search_or",
]
