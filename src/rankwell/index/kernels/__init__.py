"""The compiled kernels of search. Only `rankwell.index.compiled` imports them, because numba loads slowly.

Pruned search uses impacts: for each posting tf / (tf + norm) rounded up to a 16-bit number, so that sums of
impacts are never below the true score. Documents whose sum cannot reach the k-th best are skipped; those that
remain at the end are scored exactly, in float64 and in the order of the query's terms. So the result is that of
scoring everything, to the last bit.

Inner functions take many plain arrays and numbers: a tuple of arrays would be unpacked, reference-counted and packed
again at every call, which costs more than the call itself.
"""

from __future__ import annotations

from rankwell.index.kernels.conjunction import search_and
from rankwell.index.kernels.disjunction import search_or
from rankwell.index.kernels.exact import search_all
from rankwell.index.kernels.types import LIST, Arrays, Impacts, KernelModel, Lines, Scope, decode, prepare

__all__ = [
    "LIST",
    "Arrays",
    "Impacts",
    "KernelModel",
    "Lines",
    "Scope",
    "decode",
    "prepare",
    "search_all",
    "search_and",
    "search_or",
]
