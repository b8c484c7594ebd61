"""Read the lines of a TREC run: six columns with one space or tab between them."""

from __future__ import annotations

import numpy as np

from rankwell.core.run_kernels.order import Array, compiled, signed

SPACE, TAB, NEWLINE, COMMENT, MARK, MINUS, PLUS, POINT, ZERO, SMALL, LARGE = b" \t\n#%-+.0eE"
HIGH = 0x80
EXACT = np.uint64(1 << 53)  # a whole number below it, times or by a power of ten up to 22, is rounded once
LONGEST = 18  # digits that fit into 64 bits
NEAR = 2.0**-50
MOST_POWER = 22
POWERS = 10.0 ** np.arange(MOST_POWER + 1)
BASE, DIGIT_0 = np.uint64(10), np.uint64(ord("0"))
ONE = np.uint64(1)


# ruff: noqa: PLR0917 -- kernels take plain arrays


@compiled
def _number(buffer: Array, begin: int, finish: int) -> float:
    """The number that is written here, exact once it is rounded to 32 bits; NaN where it is not a plain one."""
    at, end = np.uint64(begin), np.uint64(finish)
    negative = buffer[at] == MINUS
    if negative or buffer[at] == PLUS:
        at += ONE
    first, whole, point = at, np.uint64(0), end
    while at < end:
        digit = np.uint64(buffer[at]) - DIGIT_0  # what is below 0 becomes large
        if digit < BASE:
            whole = BASE * whole + digit
        elif buffer[at] == POINT and point == end:
            point = at
        else:
            break
        at += ONE
    digits = signed(at - first) - (1 if point < at else 0)
    power = signed(point) + 1 - signed(at) if point < at else 0
    if digits < 1 or digits > LONGEST:
        return np.nan
    if at < end:
        written = _exponent(buffer, signed(at), finish)
        if written > HIGH:
            return np.nan
        power += written
    if abs(power) > MOST_POWER:
        return np.nan
    value: float = np.float64(whole) * POWERS[power] if power >= 0 else np.float64(whole) / POWERS[-power]
    # Longer numbers are rounded twice: they must be far enough from where the 32-bit float changes.
    if whole >= EXACT and np.float32(value * (1 - NEAR)) != np.float32(value * (1 + NEAR)):
        return np.nan
    return -value if negative else value


@compiled
def _exponent(buffer: Array, at: int, end: int) -> int:
    """The exponent behind an e; a large number where it is none."""
    wrong = 2 * HIGH
    if buffer[at] != SMALL and buffer[at] != LARGE:
        return wrong
    at += 1
    negative = at < end and buffer[at] == MINUS
    if negative or (at < end and buffer[at] == PLUS):
        at += 1
    if not 1 <= end - at <= 2:  # noqa: PLR2004 -- digits
        return wrong
    power = 0
    for place in range(at, end):
        digit = signed(buffer[place]) - ZERO
        if not 0 <= digit < 10:  # noqa: PLR2004
            return wrong
        power = 10 * power + digit
    return -power if negative else power


@compiled
def _end(buffer: Array, at: int) -> int:
    """The first blank or control character from here on."""
    place = np.uint64(at)  # unsigned: no test for places from the end, which halves the time
    while buffer[place] > SPACE:
        place += ONE
    return signed(place)


@compiled
def _parted(buffer: Array, begin: int, end: int) -> bool:
    """Whether a cell has something in it, and a space or a tab behind it."""
    return end > begin and (buffer[end] == SPACE or buffer[end] == TAB)


@compiled
def _same(buffer: Array, one: int, other: int, size: int) -> bool:
    for place in range(np.uint64(size)):  # noqa: SIM110 -- a plain loop is compiled to one
        if buffer[np.uint64(one) + place] != buffer[np.uint64(other) + place]:
            return False
    return True


@compiled
def parse_lines(buffer: Array, ids: Array, starts: Array, scores: Array, queries: Array, seen: Array) -> int:
    """Read a block of whole lines, and return their number; 0 where one is irregular.

    `ids` gets the document ids with a zero byte behind each, `starts` where each starts, and `queries` for each change
    of the query its first row, and first byte and number of bytes of its id in the buffer. `seen`: the number of
    changes.
    """
    at, rows, filled, changes = 0, 0, np.uint64(0), 0
    last, last_size = 0, -1
    while at < len(buffer):
        query, query_end = at, _end(buffer, at)
        second = query_end + 1 if _parted(buffer, query, query_end) else 0
        second_end = _end(buffer, second)
        docno = second_end + 1 if second and _parted(buffer, second, second_end) else 0
        docno_end = _end(buffer, docno)
        rank = docno_end + 1 if docno and _parted(buffer, docno, docno_end) else 0
        rank_end = _end(buffer, rank)
        score = rank_end + 1 if rank and _parted(buffer, rank, rank_end) else 0
        score_end = _end(buffer, score)
        tag = score_end + 1 if score and _parted(buffer, score, score_end) else 0
        at = _end(buffer, tag)
        if not tag or at == tag or buffer[at] != NEWLINE or buffer[query] == COMMENT or buffer[second_end - 1] == MARK:
            return 0
        at += 1
        for place in range(np.uint64(docno), np.uint64(docno_end)):
            ids[filled] = buffer[place]
            filled += ONE
        ids[filled] = 0
        filled += ONE
        value = _number(buffer, score, score_end)
        if np.isnan(value):
            return 0
        size = query_end - query
        if size != last_size or not _same(buffer, query, last, size):
            queries[changes, 0], queries[changes, 1], queries[changes, 2] = rows, query, size
            changes += 1
        last, last_size = query, size
        scores[rows] = value
        rows += 1
        starts[rows] = filled
    seen[0] = changes
    return rows
