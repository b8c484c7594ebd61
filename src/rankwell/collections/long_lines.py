"""Lines that are too long to be read into memory: find out quickly whether a file may have any."""

from __future__ import annotations

import io

LONGEST_LINE = 1 << 27  # bytes; a longer line is a bad record, so that memory is bounded
BLOCK = 1 << 16


def has_short_lines(file: io.BufferedReader) -> bool:
    """Whether no line of an open file can be too long; False where it cannot be told quickly.

    A line that is too long fills a whole window of half its size, so it is enough that every window has a line feed,
    which is mostly found at its start.
    """
    if not isinstance(file.raw, io.FileIO):
        return False
    window = LONGEST_LINE // 2
    with open(file.raw.name, "rb", buffering=0) as again:  # noqa: PTH123 -- the name may be a number
        size = again.seek(0, io.SEEK_END)
        return all(_has_feed(again, start, window) for start in range(0, size - window, window))


def _has_feed(file: io.FileIO, start: int, size: int) -> bool:
    file.seek(start)
    while size > 0 and (block := file.read(min(size, BLOCK))):
        if b"\n" in block:
            return True
        size -= len(block)
    return False


def skip_line(file: io.BufferedReader) -> None:
    """Go to the next line without keeping this one."""
    while (piece := file.readline(1 << 20)) and piece[-1:] != b"\n":
        pass
