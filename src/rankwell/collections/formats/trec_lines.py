"""Large TREC runs: whole blocks of lines are written and read by compiled loops, in several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from io import FileIO
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.collections.encodings import AUTO
from rankwell.collections.reading import GZIP, Reading, position_of
from rankwell.core import Floats, Integers, Run, Strings
from rankwell.core.run_lines import cores, in_order, kernels, lines_of, parts, worth_loading
from rankwell.core.text_column import Bytes, TextColumn

BLOCK = 1 << 21
LONG = 1 << 16  # bytes of a line
WORTH_READING = 64_000_000  # bytes of a file that are read faster with the kernels, the time to load them included
HIGH = 0x80
NEWLINE = ord("\n")
WIDEST = 48  # bytes of rank, score and the blanks of a line


def formatted(run: Run, second: str, tag: str, threads: int | None) -> Iterator[memoryview] | None:
    """The lines of a run in blocks; None for a small run, and for one whose ids need to be changed for TREC."""
    if not worth_loading(len(run)):
        return None
    docnos: Strings | TextColumn = run.docnos
    column = docnos if isinstance(docnos, TextColumn) else TextColumn.of([docno.encode() for docno in docnos.tolist()])
    if column.has_blanks:
        return None
    heads = [f"{qid} {second} ".encode() for qid in run.qids]
    work = partial(_format, run, column, heads, f" {tag}\n".encode())
    return in_order(work, parts(run.offsets), cores(threads))


def _format(run: Run, column: TextColumn, heads: Sequence[bytes], tail: bytes, span: tuple[int, int]) -> memoryview:
    lines = lines_of(run.offsets, column, run.scores, *span)
    own = heads[lines.first : lines.last]
    bounds = np.array([0, *accumulate(map(len, own))], dtype=np.int64)
    width = int(np.diff(bounds) @ np.diff(lines.offsets)) + int(lines.lengths.sum())
    out = np.empty(width + (WIDEST + len(tail)) * len(lines.scores), dtype=np.uint8)
    fixed = np.frombuffer(b"".join(own), dtype=np.uint8), bounds, np.frombuffer(tail, dtype=np.uint8)
    size = kernels().format_lines(lines.offsets, *fixed, *lines[3:], out)
    return out[:size].data


class ParsedLines(NamedTuple):
    """The lines of a block: each change of the query with the number of its lines, and the columns."""

    qids: list[bytes]
    sizes: list[int]
    docnos: TextColumn
    scores: Floats
    tag: str
    is_ascii: bool


def parse(block: Bytes) -> ParsedLines | None:
    """The lines of a regular block; None for any other block."""
    count = int((block == NEWLINE).sum())
    ids, starts = np.empty(len(block), dtype=np.uint8), np.zeros(count + 1, dtype=np.int64)
    scores, queries = np.empty(count, dtype=np.float32), np.empty((count, 3), dtype=np.int64)
    seen = np.zeros(1, dtype=np.int64)
    rows = kernels().parse_lines(block, ids, starts, scores, queries, seen)
    if not rows:
        return None
    changes = queries[: seen[0]]
    qids = [block[begin : begin + size].tobytes() for begin, size in changes[:, 1:].tolist()]
    sizes = np.diff(np.append(changes[:, 0], rows)).tolist()
    tag = block[: int((block == NEWLINE).argmax())].tobytes().split()[-1].decode(errors="replace")
    is_ascii = int(block.max()) < HIGH
    return ParsedLines(qids, sizes, TextColumn(ids[: starts[-1]].copy(), starts), scores, tag, is_ascii)


def blocks_of(path: Path, reading: Reading) -> Iterator[Bytes] | None:
    """About two megabytes at a time, always whole lines; None for a packed file, and where an encoding is named."""
    if reading.encoding != AUTO:
        return None
    file = path.open("rb", buffering=0)
    if file.read(len(GZIP)) == GZIP:
        file.close()
        return None
    file.seek(0)
    reading.progress.watch(position_of(file), path.stat().st_size)
    return _blocks(file)


def _blocks(file: FileIO) -> Iterator[Bytes]:
    rest = np.zeros(0, dtype=np.uint8)
    with file:
        while True:
            buffer = np.empty(len(rest) + BLOCK, dtype=np.uint8)
            buffer[: len(rest)] = rest
            filled = len(rest)
            while filled < len(buffer) and (more := file.readinto(buffer[filled:].data)):
                filled += more
            if filled < len(buffer):  # the end of the file
                if filled:
                    buffer[filled] = NEWLINE
                    yield _read_only(buffer[: filled + (buffer[filled - 1] != NEWLINE)])
                return
            ends = np.flatnonzero(buffer[-LONG:] == NEWLINE)
            ends = ends + len(buffer) - LONG if len(ends) else np.flatnonzero(buffer == NEWLINE)
            end = int(ends[-1]) + 1 if len(ends) else 0
            rest = buffer[end:]
            if end:
                yield _read_only(buffer[:end])


def _read_only(block: Bytes) -> Bytes:
    block.flags.writeable = False  # one type for the kernels
    return block


def is_large(path: Path) -> bool:
    """Whether a file is read faster with the kernels."""
    return path.stat().st_size >= WORTH_READING and not kernels.reserved


def repeated(offsets: Integers, column: TextColumn, threads: int | None) -> Integers:
    """The rows whose document their query had already."""
    loops = kernels()

    def marked(span: tuple[int, int]) -> Integers:
        own = offsets[span[0] : span[1] + 1] - offsets[span[0]]
        begins, lengths = column.spans(int(offsets[span[0]]), int(offsets[span[1]]))
        marks = np.zeros(len(begins), dtype=np.uint8)
        count = loops.mark_repeated(own, column.data, begins, lengths, marks)
        return np.flatnonzero(marks) + offsets[span[0]] if count else np.zeros(0, dtype=np.int64)

    return np.concatenate([np.zeros(0, dtype=np.int64), *in_order(marked, parts(offsets), cores(threads))])
