"""The documents of one window that may be among the best: `found` (places in the window) and `scores`, in step."""

# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package

from __future__ import annotations

import numpy as np

from rankwell.index.kernels.keys import key_of
from rankwell.index.kernels.postings import reached
from rankwell.index.kernels.types import compiled, whole
from rankwell.index.layout import WINDOW, Array

# Sums are looked at in blocks of this size, which become a few vector instructions, and where needed in strides.
BLOCK = 128
STRIDE = 16
DENSE = 8  # a lookup goes through a list that is at most so many times as long as the candidates


@compiled
def accumulate(
    documents: Array, base: int, impacts: Array, shift: int, start: int, end: int, unit: float, sums: Array
) -> None:
    """Add a list's part of a window to the sums."""
    for at in range(start, end):
        sums[whole(documents[at]) - base] += unit * np.float32(impacts[at + shift])


@compiled
def take_single(
    documents: Array, base: int, impacts: Array, shift: int, start: int, end: int, unit: float, needed: float,
    found: Array, scores: Array,
) -> int:  # fmt: skip
    """The documents of one list that reach what is needed; how many."""
    count = 0
    for at in range(start, end):
        score = unit * np.float32(impacts[at + shift])
        found[count] = whole(documents[at]) - base
        scores[count] = score
        count += 1 if score >= needed else 0
    return count


@compiled
def take_listed(
    documents: Array, base: int, start: int, end: int, needed: float, sums: Array, found: Array, scores: Array,
    count: int,
) -> int:  # fmt: skip
    """Collect the sums at a list's documents, and clear them; how many there are now."""
    for at in range(start, end):
        local = whole(documents[at]) - base
        score = sums[local]
        if score > 0:
            sums[local] = 0
            found[count] = local
            scores[count] = score
            count += score >= needed
    return count


@compiled
def take_all(
    needed: float, sums: Array, bits: Array, found: Array, scores: Array, cell: Array, cell_bits: Array
) -> int:
    """Collect all sums of a window that reach what is needed, and clear them; how many.

    Positive floats compare as their bits do, and a maximum of whole numbers needs no care for NaN: the compiler makes
    vector instructions of it.
    """
    cell[0] = max(needed, 0.0)
    least = max(np.int32(cell_bits[0]), np.int32(1))
    count = 0
    for block in range(0, WINDOW, BLOCK):
        highest = np.int32(0)
        for at in range(block, block + BLOCK):
            highest = max(highest, bits[at])
        if highest < least:
            continue
        for start in range(block, block + BLOCK, STRIDE):
            highest = np.int32(0)
            for at in range(start, start + STRIDE):
                highest = max(highest, bits[at])
            if highest < least:
                continue
            for at in range(start, start + STRIDE):
                found[count] = at
                scores[count] = sums[at]
                count += bits[at] >= least
    sums[:] = 0
    return count


@compiled
def look_up(
    documents: Array, base: int, impacts: Array, shift: int, start: int, end: int, unit: float,
    found: Array, scores: Array, marks: Array, count: int, rising: bool,
) -> None:  # fmt: skip
    """Add a list's part to the candidates that are in it, and mark those."""
    walk = rising and count * DENSE >= end - start
    low = start
    for place in range(count):
        wanted = found[place] + base
        if walk:
            while low < end and whole(documents[low]) < wanted:
                low += 1
        else:
            low = reached(documents, low if rising else start, end, wanted)
        if low < end and whole(documents[low]) == wanted:
            scores[place] += unit * np.float32(impacts[low + shift])
            marks[place] = 1


@compiled
def clear(documents: Array, base: int, start: int, end: int, sums: Array) -> None:
    """Set the sums of a list's documents back."""
    for at in range(start, end):
        sums[whole(documents[at]) - base] = 0


@compiled
def add_sums(sums: Array, found: Array, scores: Array, count: int) -> int:
    """Keep the candidates that have a sum, and add it to their scores; how many."""
    kept = 0
    for place in range(count):
        part = sums[found[place]]
        found[kept] = found[place]
        scores[kept] = scores[place] + part
        kept += part > 0
    return kept


@compiled
def narrowed(found: Array, scores: Array, count: int, needed: float) -> int:
    """Keep the candidates that still can win; how many."""
    kept = 0
    for place in range(count):
        score = scores[place]
        found[kept] = found[place]
        scores[kept] = score
        kept += score >= needed
    return kept


@compiled
def marked(found: Array, scores: Array, marks: Array, count: int) -> int:
    """Keep the candidates that are marked, and clear the marks; how many."""
    kept = 0
    for place in range(count):
        found[kept] = found[place]
        scores[kept] = scores[place]
        kept += marks[place]
        marks[place] = 0
    return kept


@compiled
def unmasked(mask: Array, first: int, found: Array, scores: Array, count: int) -> int:
    """Keep the candidates that may be found; how many."""
    kept = 0
    for place in range(count):
        found[kept] = found[place]
        scores[kept] = scores[place]
        kept += mask[first + found[place]]
    return kept


@compiled
def push(keys: Array, total: int, first: int, found: Array, scores: Array, count: int, cell: Array, bits: Array) -> int:
    """Put the candidates of a window among the best so far; how many these are now."""
    for place in range(count):
        keys[total + place] = key_of(scores[place], first + found[place], cell, bits)
    return total + count
