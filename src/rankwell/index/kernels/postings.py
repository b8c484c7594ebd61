"""Single postings."""

from __future__ import annotations

from rankwell.index.kernels.types import compiled, whole
from rankwell.index.layout import Array


@compiled
def reached(documents: Array, low: int, high: int, wanted: int) -> int:
    """The first place from `low` to before `high` whose document is not below the wanted one.

    Written so that the compiler needs no branch: where a document is can not be foreseen, and guessing wrong is dear.
    """
    size = high - low
    while size > 0:
        half = (size + 1) >> 1
        low += half if whole(documents[low + half - 1]) < wanted else 0
        size -= half
    return low


@compiled
def large_frequency(large_at: Array, large: Array, posting: int) -> int:
    """How often a term is in a document where that does not fit into a byte.

    Callers look at the byte themselves: this call for every posting would cost more than all else that is done there.
    """
    return whole(large[reached(large_at, 0, len(large_at), posting)])
