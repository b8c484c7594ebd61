"""Examples of a loss: single pairs, or lists of a query's documents that have something to tell apart."""

from __future__ import annotations

import numpy as np

from rankwell.core.arrays import Floats, Integers


def single_pairs(count: int) -> list[Integers]:
    """Each pair alone."""
    return list(np.arange(count)[:, None])


def query_lists(groups: Integers, labels: Floats, size: int) -> list[Integers]:
    """The rows of each query, in lists of at most `size` documents; lists whose labels are all equal left out.

    A query with more documents than fit gives several lists, with its relevant documents and the others dealt out in
    turn, so that each list has some of both where there are enough.
    """
    lists = []
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        best_first = rows[np.argsort(-labels[rows], kind="stable")]
        parts = max(1, -(-len(rows) // size))
        lists += [best_first[part::parts] for part in range(parts)]
    return [rows for rows in lists if len(np.unique(labels[rows])) > 1]
