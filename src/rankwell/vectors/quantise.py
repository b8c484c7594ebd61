"""Vectors as 16-bit integers, stored in two planes of bytes: half the size of 32-bit floats.

    x = scale * (256 * high + low)          high and low from -128 to 127, kept with 128 added

The upper plane alone is a vector of 8-bit numbers that can be scanned quickly; with the lower plane it is
more exact than 16-bit floats (a step is 1/32,639 of the largest component). Vectors are grouped by
scale, which is the next power of 2^(1/4) above the vector's largest component: so scales need no space, and a
search compares plain integers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import Floats, Integers, RankwellError, Values

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

STEPS = 4  # scales in a factor of two
LARGEST = 127 * 256 + 127
SHIFT = 128  # offset of stored bytes
SMALLEST = -160  # the step of a zero vector
FINE = 1 << 22  # largest integer of a query in scoring: products with codes and their sums are exact in float64
COARSE = 1 << 31  # bound of the sums of products in a search
ROUNDING = 1e-6  # error of 32-bit floats in a search, relative to scores of at most about 1


class Group(NamedTuple):
    """Vectors of one scale: their number, and the largest distance of the upper plane from the whole vector."""

    scale: float
    error: float
    rows: int


class Planes(NamedTuple):
    """Vectors by group: `order` gives the vector of each row."""

    groups: tuple[Group, ...]
    order: Integers
    high: Bytes
    low: Bytes


@dataclass(frozen=True, eq=False)
class QueryCodes:
    """Queries as integers: fine ones for scores, and coarse ones for searching the upper plane."""

    fine: Values  # (queries, dimensions), integers
    fine_scale: Values
    coarse: np.ndarray[Any, np.dtype[np.int16]]
    coarse_scale: Values
    slack: Values  # distance of the coarse query from the fine one
    norm: Values

    def __len__(self) -> int:
        return len(self.fine)

    def part(self, start: int, end: int) -> QueryCodes:
        """The queries from `start` to `end` (exclusive)."""
        return QueryCodes(*(getattr(self, column.name)[start:end] for column in fields(self)))


def unit(vectors: Floats) -> Floats:
    """Vectors normalised to length 1, so that dot products are cosines; zeros stay zeros."""
    given = np.asarray(vectors, dtype=np.float32)
    if not np.isfinite(given).all():
        raise RankwellError("vectors: expected finite numbers, found others (is the model damaged?)")
    lengths = np.linalg.norm(given.astype(np.float64), axis=1, keepdims=True)
    return (given / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def planes(vectors: Floats) -> Planes:
    """Vectors of length 1 as two planes of bytes, grouped by scale."""
    largest = np.abs(vectors).max(axis=1, initial=0).astype(np.float64)
    with np.errstate(divide="ignore"):
        steps = np.ceil(STEPS * np.log2(largest))
    steps = np.maximum(steps, SMALLEST).astype(np.int64)
    order = np.argsort(steps, kind="stable")
    scales = scale_of(steps[order])
    codes = np.rint(vectors[order] / scales[:, None]).astype(np.int32)
    np.clip(codes, -LARGEST, LARGEST, out=codes)  # rounding at the border of a step
    high = (codes + SHIFT) >> 8
    low = codes - (high << 8)
    groups = []
    for step in np.unique(steps).tolist():
        own = steps[order] == step
        scale = float(scale_of(np.array(step)))
        error = scale * float(np.sqrt((low[own].astype(np.float64) ** 2).sum(axis=1)).max())
        groups.append(Group(scale, error, int(own.sum())))
    return Planes(tuple(groups), order, (high + SHIFT).astype(np.uint8), (low + SHIFT).astype(np.uint8))


def scale_of(step: Any) -> Any:
    """The scale of vectors whose largest component is up to 2^(step/4)."""
    return np.exp2(step / STEPS) / LARGEST


def restored(high: Bytes, low: Bytes | None) -> Values:
    """The integers of vectors, as floats that represent them exactly."""
    whole = (high.astype(np.int32) - SHIFT) << 8
    if low is not None:
        whole += low.astype(np.int32) - SHIFT
    return whole.astype(np.float64)


def query_codes(queries: Floats) -> QueryCodes:
    """Queries as fine and coarse integers."""
    largest = np.abs(queries).max(axis=1, initial=0).astype(np.float64)
    largest = np.where(largest > 0, largest, 1.0)
    fine_scale = largest / FINE
    fine = np.rint(queries / fine_scale[:, None])
    limit = min(LARGEST, (COARSE - 1) // (255 * max(1, queries.shape[1])))
    coarse_scale = largest / limit
    coarse = np.rint(queries / coarse_scale[:, None])
    exact = fine * fine_scale[:, None]
    slack = np.linalg.norm(exact - coarse * coarse_scale[:, None], axis=1)
    return QueryCodes(fine, fine_scale, coarse.astype(np.int16), coarse_scale, slack, np.linalg.norm(exact, axis=1))


def bounds(queries: QueryCodes, group: Group) -> Values:
    """The largest error of a search of a group's upper planes, for each query.

    q·x = q'·x' + q·(x - x') + (q - q')·x'  with  |q·(x - x')| <= |q| |x - x'|  and  |(q - q')·x'| <= |q - q'| |x'|
    """
    return queries.norm * group.error + queries.slack * (1 + group.error) + ROUNDING
