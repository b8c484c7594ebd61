"""Triples of a query and two of its documents, one more relevant than the other: what duoBERT is trained on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Triples:
    """Pairs by their rows: is document `one[t]` more relevant than `other[t]` to the query of both? 1 or 0."""

    one: Integers
    other: Integers
    labels: np.ndarray[Any, np.dtype[np.float32]]

    def __len__(self) -> int:
        return len(self.labels)


def triples_of(groups: Integers, labels: Floats, query_ids: Sequence[str], *, others: int, seed: int) -> Triples:
    """Every document of a query against at most `others` that are less relevant, in both orders.

    Never two that are equally relevant (S4 3.1.2). Which others are drawn depends on the seed and the query alone.
    """
    found: list[tuple[int, int]] = []
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if not len(rows):
            continue
        lots = random.Random(f"{seed}/{query_ids[rows[0]]}")  # noqa: S311 -- reproducible, no secret
        for row in rows.tolist():
            below = rows[labels[rows] < labels[row]].tolist()
            found += [(row, lower) for lower in sorted(lots.sample(below, min(others, len(below))))]
    if not found:
        raise RankwellError(
            f"pairs: expected queries with documents of different labels, to compare two of them, found none among "
            f"{len(np.unique(groups)):,} queries: add negatives"
        )
    better, worse = np.array(found, dtype=np.int64).T
    both = np.stack([better, worse], axis=1)
    return Triples(both.ravel(), both[:, ::-1].ravel(), np.tile(np.array([1, 0], dtype=np.float32), len(found)))
