"""The compiled parts of comparing titles: the Gestalt similarity, and which earlier titles can reach a similarity.

Loaded through `rankwell.reviews.matching`, since numba takes a second to load.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Characters by their last seven bits: ASCII texts have no collisions, and others only look more similar at first.
BUCKETS = 128
ROW = 31  # bits below the number of a row, for the length of a block
LENGTH = (1 << ROW) - 1
WORD = 64  # bits


@numba.njit(cache=True, nogil=True)
def matching_characters(a: Any, b: Any) -> int:
    """Characters in matching blocks, as difflib finds them: the longest block, then those left and right of it.

    Of blocks of the same length the one that starts earliest in a is taken, and of those the earliest in b. The work
    is proportional to the number of equal pairs of characters, as in difflib, which keeps the same lists.
    """
    starts, places = _by_character(b)
    # For even and for odd places of a: how long the block is that ends at a place of b, and by which row (the place in
    # a, from 1) that was written, in one number.
    ends = np.zeros(2 * (len(b) + 1), dtype=np.int64)
    # A stack of the ranges to be searched: never more of them than the shorter text has characters.
    waiting = np.zeros((min(len(a), len(b)) + 2, 4), dtype=np.int32)
    waiting[0, 1], waiting[0, 3] = len(a), len(b)
    count, matches = 1, 0
    while count:
        count -= 1
        a_low, a_high, b_low, b_high = waiting[count, 0], waiting[count, 1], waiting[count, 2], waiting[count, 3]
        a_start, b_start, size = _longest(a, b, starts, places, ends, a_low, a_high, b_low, b_high)
        matches += size
        if size and a_low < a_start and b_low < b_start:
            _put(waiting, count, a_low, a_start, b_low, b_start)
            count += 1
        if size and a_start + size < a_high and b_start + size < b_high:
            _put(waiting, count, a_start + size, a_high, b_start + size, b_high)
            count += 1
    return matches


@numba.njit(cache=True, nogil=True)
def _put(  # noqa: PLR0917 -- compiled functions take their arguments by place
    waiting: Any, place: int, a_low: int, a_high: int, b_low: int, b_high: int
) -> None:
    waiting[place, 0], waiting[place, 1], waiting[place, 2], waiting[place, 3] = a_low, a_high, b_low, b_high


@numba.njit(cache=True, nogil=True)
def _by_character(b: Any) -> Any:
    """The places of b sorted by character (as far as buckets tell them apart), and where each bucket starts."""
    starts = np.zeros(BUCKETS + 1, dtype=np.int32)
    for character in b:
        starts[(character & (BUCKETS - 1)) + 1] += 1
    for bucket in range(BUCKETS):
        starts[bucket + 1] += starts[bucket]
    places = np.empty(len(b), dtype=np.int32)
    filled = starts[:-1].copy()
    for place in range(len(b)):
        bucket = b[place] & (BUCKETS - 1)
        places[filled[bucket]] = place
        filled[bucket] += 1
    return starts, places


@numba.njit(cache=True, nogil=True)
def _longest(  # noqa: PLR0917 -- likewise
    a: Any, b: Any, starts: Any, places: Any, ends: Any, a_low: int, a_high: int, b_low: int, b_high: int
) -> tuple[int, int, int]:
    """Start and size of the longest common block of the two ranges; the first of several."""
    a_best, b_best, best = a_low, b_low, 0
    width = len(b) + 1
    for j in range(b_low, b_high + 1):
        ends[j], ends[width + j] = 0, 0
    for i in range(a_low, a_high):
        before, now = ((i + 1) & 1) * width, (i & 1) * width
        bucket = a[i] & (BUCKETS - 1)
        for place in range(starts[bucket], starts[bucket + 1]):
            j = places[place]
            if j < b_low or b[j] != a[i]:
                continue
            if j >= b_high:
                break
            end, size = ends[before + j], 1
            if j > b_low and end >> ROW == i:  # extends the block that ended just before
                size += end & LENGTH
            ends[now + j + 1] = ((i + 1) << ROW) | size
            if size > best:
                a_best, b_best, best = i - size + 1, j - size + 1, size
    return a_best, b_best, best


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
    others = np.empty(text, dtype=np.int64)
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
            others[size] = other
            size += 1
    return others[:size]


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
