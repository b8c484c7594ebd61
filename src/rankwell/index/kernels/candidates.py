"""The documents of one window that may be among the best: `candidates` (positions in it) and `scores`, parallel."""

from __future__ import annotations

import numpy as np

from rankwell.index.blocks import WINDOW, Array
from rankwell.index.kernels.types import compiled, key_of, reached, whole

# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package


# Sums are scanned in blocks of this size, which compile to a few vector instructions, and where needed in strides.
BLOCK = 128
STRIDE = 16
DENSE = 8  # a lookup walks a list that is at most this many times as long as the candidates


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
    candidates: Array, scores: Array,
) -> int:  # fmt: skip
    """Collect the documents of one list that reach the needed score; return their number."""
    count = 0
    for at in range(start, end):
        score = unit * np.float32(impacts[at + shift])
        candidates[count] = whole(documents[at]) - base
        scores[count] = score
        count += 1 if score >= needed else 0
    return count


@compiled
def take_listed(
    documents: Array, base: int, start: int, end: int, needed: float, sums: Array, candidates: Array, scores: Array,
    count: int,
) -> int:  # fmt: skip
    """Collect the sums at a list's documents, and clear them; return the new number of candidates."""
    for at in range(start, end):
        local = whole(documents[at]) - base
        score = sums[local]
        if score > 0:
            sums[local] = 0
            candidates[count] = local
            scores[count] = score
            count += score >= needed
    return count


@compiled
def take_all(
    needed: float, sums: Array, bits: Array, candidates: Array, scores: Array, cell: Array, cell_bits: Array
) -> int:
    """Collect all sums of a window that reach the needed score, and clear them; return their number.

    Positive floats compare as their bits do, and a maximum of integers need not handle NaN: the compiler
    vectorises it.
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
                candidates[count] = at
                scores[count] = sums[at]
                count += bits[at] >= least
    sums[:] = 0
    return count


@compiled
def look_up(
    documents: Array, base: int, impacts: Array, shift: int, start: int, end: int, unit: float,
    candidates: Array, scores: Array, marks: Array, count: int, rising: bool,
) -> None:  # fmt: skip
    """Add a list's part to the candidates in it, and mark those."""
    walk = rising and count * DENSE >= end - start
    low = start
    for place in range(count):
        wanted = candidates[place] + base
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
    """Reset the sums of a list's documents."""
    for at in range(start, end):
        sums[whole(documents[at]) - base] = 0


@compiled
def add_sums(sums: Array, candidates: Array, scores: Array, count: int) -> int:
    """Keep the candidates with a sum, and add it to their scores; return their number."""
    kept = 0
    for place in range(count):
        part = sums[candidates[place]]
        candidates[kept] = candidates[place]
        scores[kept] = scores[place] + part
        kept += part > 0
    return kept


@compiled
def narrowed(candidates: Array, scores: Array, count: int, needed: float) -> int:
    """Keep the candidates that can still win; return their number."""
    kept = 0
    for place in range(count):
        score = scores[place]
        candidates[kept] = candidates[place]
        scores[kept] = score
        kept += score >= needed
    return kept


@compiled
def marked(candidates: Array, scores: Array, marks: Array, count: int) -> int:
    """Keep the marked candidates, and clear the marks; return their number."""
    kept = 0
    for place in range(count):
        candidates[kept] = candidates[place]
        scores[kept] = scores[place]
        kept += marks[place]
        marks[place] = 0
    return kept


@compiled
def unmasked(mask: Array, first: int, candidates: Array, scores: Array, count: int) -> int:
    """Keep the candidates that the mask allows; return their number."""
    kept = 0
    for place in range(count):
        candidates[kept] = candidates[place]
        scores[kept] = scores[place]
        kept += mask[first + candidates[place]]
    return kept


@compiled
def push(
    keys: Array, total: int, first: int, candidates: Array, scores: Array, count: int, cell: Array, bits: Array
) -> int:
    """Add the candidates of a window to the best so far; return the new number of these."""
    for place in range(count):
        keys[total + place] = key_of(scores[place], first + candidates[place], cell, bits)
    return total + count
