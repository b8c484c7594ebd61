"""The compiled kernels of search."""

from __future__ import annotations

from rankwell.core.kernels import Kernels

kernels = Kernels("rankwell.index.kernels", announced="the search kernels")


def is_loaded() -> bool:
    """Whether they are in memory already: one small search is quicker without them."""
    return kernels.loaded
