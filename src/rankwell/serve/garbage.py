"""Python's search for garbage: what was loaded at the start stays, and is not looked through again and again."""

from __future__ import annotations

import gc

OFTEN = 10_000  # new objects between two looks; Python's own 700 are less than one answer with texts makes


def spare_what_stays() -> None:
    """Let the search for garbage pass over all there is now, for the whole process.

    Otherwise every search stops now and then while modules and kernels are looked through: 46 ms the longest and 0.2 ms
    a request on average were measured, 4 ms and 0.005 ms with this.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OFTEN)
