"""Look texts up in small hash tables, one query at a time: repeated ids, judged ids."""

from __future__ import annotations

import numpy as np

from rankwell.core.run_kernels.order import Array, compiled, signed

OFFSET, PRIME, MIX = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(32)
ROUGH = 256


# ruff: noqa: PLR0917 -- kernels take plain arrays


@compiled
def _hashed(data: Array, begin: int, size: int) -> np.uint64:
    """FNV-1a (Fowler, Noll and Vo), with its high bits mixed into the low ones."""
    code = OFFSET
    for at in range(np.uint64(begin), np.uint64(begin + size)):
        code = (code ^ np.uint64(data[at])) * PRIME
    return code ^ (code >> MIX)


@compiled
def _same(data: Array, begin: int, others: Array, other: int, size: int) -> bool:
    for at in range(np.uint64(size)):  # noqa: SIM110 -- a plain loop is compiled to one
        if data[np.uint64(begin) + at] != others[np.uint64(other) + at]:
            return False
    return True


@compiled
def _slots(count: int) -> int:
    """A power of two with room for twice as many."""
    size = 4
    while size < 2 * count:
        size *= 2
    return size


@compiled
def mark_repeated(offsets: Array, data: Array, begins: Array, lengths: Array, marks: Array) -> int:
    """Mark the rows whose text the same query had before, and return their number."""
    most, count = 0, 0
    for query in range(len(offsets) - 1):
        most = max(most, offsets[query + 1] - offsets[query])
    table = np.empty(_slots(most), dtype=np.int64)
    codes = np.empty(len(table), dtype=np.uint64)
    for query in range(len(offsets) - 1):
        size = _slots(offsets[query + 1] - offsets[query])
        table[:size] = -1
        for row in range(offsets[query], offsets[query + 1]):
            code = _hashed(data, begins[row], lengths[row])
            place = signed(code & np.uint64(size - 1))
            while table[place] >= 0:
                known = table[place]
                equal = codes[place] == code and lengths[known] == lengths[row]
                if equal and _same(data, begins[known], data, begins[row], lengths[row]):
                    marks[row] = 1
                    count += 1
                    break
                place = (place + 1) & (size - 1)
            if table[place] < 0:
                table[place], codes[place] = row, code
    return count


@compiled
def _rough(data: Array, begin: int, size: int) -> int:
    """A very cheap hash of a text: most texts that are not looked for differ already here."""
    return (signed(data[begin + size - 1]) * 31 + signed(data[begin + size // 2]) * 7 + size) % ROUGH


@compiled
def mark_judged(
    offsets: Array,
    data: Array,
    begins: Array,
    lengths: Array,
    judged_from: Array,
    judged_to: Array,
    judged: Array,
    judged_begins: Array,
    judged_lengths: Array,
    found: Array,
) -> None:
    """For each row the judgment of its query with the same text; others stay as they are.

    Query i has the rows `offsets[i]` to `offsets[i + 1]` and the judgments `judged_from[i]` to `judged_to[i]` (all
    exclusive).
    """
    most = 0
    for query in range(len(judged_from)):
        most = max(most, judged_to[query] - judged_from[query])
    table = np.empty(_slots(most), dtype=np.int64)
    rough = np.zeros(ROUGH, dtype=np.bool_)
    for query in range(len(judged_from)):
        size = _slots(judged_to[query] - judged_from[query])
        table[:size] = -1
        rough[:] = False
        for one in range(judged_from[query], judged_to[query]):
            if judged_lengths[one] == 0:
                continue
            rough[_rough(judged, judged_begins[one], judged_lengths[one])] = True
            place = signed(_hashed(judged, judged_begins[one], judged_lengths[one]) & np.uint64(size - 1))
            while table[place] >= 0:
                place = (place + 1) & (size - 1)
            table[place] = one
        for row in range(offsets[query], offsets[query + 1]):
            begin, length = begins[row], lengths[row]
            if length == 0 or not rough[_rough(data, begin, length)]:
                continue
            place = signed(_hashed(data, begin, length) & np.uint64(size - 1))
            while table[place] >= 0:
                one = table[place]
                if judged_lengths[one] == length and _same(data, begin, judged, judged_begins[one], length):
                    found[row] = one
                    break
                place = (place + 1) & (size - 1)
