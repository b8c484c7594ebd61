"""Documents with their scores as single numbers, larger for the better one."""

from __future__ import annotations

import numpy as np

from rankwell.index.kernels.types import compiled, whole
from rankwell.index.layout import Array

POSITIVE = np.uint64(1 << 31)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@compiled
def key_of(score: float, number: int, cell: Array, bits: Array) -> np.uint64:
    """The score as float32, then the smaller document number first. `bits` are those of `cell`, a float32."""
    cell[0] = np.float32(score) + np.float32(0)  # -0.0 becomes 0.0, which it is equal to
    high = np.uint64(bits[0])
    high = high ^ POSITIVE if high < POSITIVE else high ^ LOW
    return (high << HALF) | (LOW - np.uint64(number))


@compiled
def score_of(key: np.uint64, cell: Array, bits: Array) -> float:
    """The score of a key."""
    high = key >> HALF
    bits[0] = high ^ POSITIVE if high >= POSITIVE else high ^ LOW
    return float(cell[0])


@compiled
def keep_best(keys: Array, count: int, k: int) -> None:
    """Bring the k largest of the first `count` keys to the front, and the k-th to its place."""
    low, high = 0, count - 1
    while low < high:
        pivot = keys[(low + high) >> 1]
        left, right = low, high
        while left <= right:
            while keys[left] > pivot:
                left += 1
            while keys[right] < pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            return


@compiled
def decode(keys: Array, counts: Array, documents: Array, scores: Array) -> None:
    """Documents and scores out of the keys of each query, which are sorted with the best at the end."""
    cell = np.zeros(1, np.float32)
    bits = cell.view(np.uint32)
    last = keys.shape[1] - 1
    for query in range(len(counts)):
        for place in range(counts[query]):
            key = keys[query, last - place]
            documents[query, place] = whole(LOW - (key & LOW))
            scores[query, place] = score_of(key, cell, bits)
