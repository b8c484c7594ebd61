"""The compiled part of finding duplicates: which earlier titles can reach a similarity.

Loaded through `rankwell.reviews.screening.duplicates`, since numba takes a second to load.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

BUCKETS = 128  # characters by their last seven bits; a collision only makes titles look more similar
WORD = 64  # bits


@numba.njit(cache=True, nogil=True)
def counts_of(characters: Any, starts: Any) -> Any:
    """Counts of each character in each text; the texts are concatenated and start at `starts`."""
    counts = np.zeros((len(starts) - 1, BUCKETS), dtype=np.int32)
    for text in range(len(starts) - 1):
        for place in range(starts[text], starts[text + 1]):
            counts[text, characters[place]] += 1
    return counts


@numba.njit(cache=True, nogil=True)
def alike(  # noqa: PLR0917 -- compiled functions take their arguments by place
    characters: Any, starts: Any, counts: Any, years: Any, text: int, near: float, same: float
) -> Any:
    """The texts before this one whose Gestalt similarity may be above `near` (of the same year) or `same` (of others).

    It is 2 M / T, T the characters of both. M, the characters in matching blocks, is at most the shorter length; at
    most what both have of each character; and at most their longest common subsequence, since blocks keep their order.
    The three bounds are tried in this order, each slower and tighter than the one before.
    """
    length = starts[text + 1] - starts[text]
    found = np.empty(text, dtype=np.int64)
    size = 0
    masks = _masks(characters, starts[text], starts[text + 1])
    for other in range(text):
        other_length = starts[other + 1] - starts[other]
        floor = near if years[other] == years[text] and years[text] > 0 else same
        wanted = floor * (length + other_length) / 2
        if length == 0 or other_length == 0 or min(length, other_length) <= wanted:
            continue
        shared = 0
        for bucket in range(BUCKETS):
            shared += min(counts[other, bucket], counts[text, bucket])
        if shared <= wanted:
            continue
        if _common(characters, starts[other], starts[other + 1], masks, length) > wanted:
            found[size] = other
            size += 1
    return found[:size]


@numba.njit(cache=True, nogil=True)
def _masks(characters: Any, start: int, end: int) -> Any:
    """For each character the places at which the text has it, as bits."""
    masks = np.zeros((BUCKETS, (end - start + WORD - 1) // WORD), dtype=np.uint64)
    for place in range(end - start):
        masks[characters[start + place], place // WORD] |= np.uint64(1) << np.uint64(place % WORD)
    return masks


@numba.njit(cache=True, nogil=True)
def _common(characters: Any, start: int, end: int, masks: Any, length: int) -> int:
    """The length of the longest common subsequence, 64 places at a time.

    Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004): V starts as ones, and for each character with
    its mask, U = V & mask, V = (V + U) | (V - U); at the end V has a zero for each character of the subsequence.
    """
    words = masks.shape[1]
    state = np.full(words, ~np.uint64(0), dtype=np.uint64)
    for place in range(start, end):
        carry = np.uint64(0)
        for word in range(words):
            before = state[word]
            used = before & masks[characters[place], word]
            total = before + used
            over = np.uint64(1) if total < before else np.uint64(0)
            total += carry
            if total < carry:
                over = np.uint64(1)
            carry = over
            state[word] = total | (before - used)
    zeros = 0
    for place in range(length):
        zeros += 1 - ((state[place // WORD] >> np.uint64(place % WORD)) & np.uint64(1))
    return zeros
