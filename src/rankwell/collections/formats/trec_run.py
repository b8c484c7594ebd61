"""TREC runs: `qid Q0 docno rank score tag`. The rank column is not used: scores decide, as in trec_eval.

A run can have millions of lines, so blocks of it are parsed with numpy: where the separators stand tells where the
columns are, and columns are cut out as fixed-width bytes. Only a block that is not perfectly regular (several spaces,
CRLF, a comment, a bad line) is first brought into shape line by line, which is also where every mistake is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.collections.formats.trec_qrels import first_row, spaceless
from rankwell.collections.lines import byte_blocks, byte_lines
from rankwell.collections.reading import Reading
from rankwell.core.arrays import TEXT, Strings
from rankwell.core.errors import FormatError, Phrase, shown
from rankwell.core.files import atomic_write
from rankwell.core.run import Run

COLUMNS = 6
EXPECTED = "6 columns (qid Q0 docno rank score tag)"
BLOCK = 1 << 22
SPACE, NEWLINE = 32, 10

Bytes = npt.NDArray[np.uint8]


class TrecRun:
    """Six columns separated by spaces or tabs; lines that start with # are comments."""

    name = "trec"
    suffixes = (".trec", ".run", ".res", ".txt")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the first line that is not a comment has six columns."""
        return path.is_file() and len(first_row(start)) == COLUMNS

    def read(self, path: Path, reading: Reading) -> Run:
        """The whole run. Its tag is that of the first line."""
        blocks: list[Rows] = []
        for first, block in _blocks(path, reading):
            rows = parsed(block) or parsed(_regular(path, first, block, reading))
            if rows is not None:
                reading.progress.advance(len(rows.scores))
                blocks.append(rows)
        if not blocks:
            return Run.from_dict({})
        return _run(path, blocks)

    def write(self, path: Path, run: Run) -> None:
        """Ranks from 1; scores with just enough digits to read back the same 32-bit number."""
        tag = spaceless("_".join(run.tag.split()) or "rankwell", path).encode()
        with atomic_write(path) as file:
            for qid, ranking in run.rankings():
                spaceless(qid, path)
                scores = ranking.scores.astype(TEXT).tolist()
                for rank, (docno, score) in enumerate(zip(ranking.docnos.tolist(), scores, strict=True), 1):
                    file.write(f"{qid} Q0 {spaceless(docno, path)} {rank} {score} ".encode() + tag + b"\n")


class Rows(NamedTuple):
    """The columns of a block that are used; `keys` are hashes of the document ids."""

    qids: npt.NDArray[np.bytes_]
    docnos: Strings
    keys: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.float64]
    tag: str


@dataclass(frozen=True)
class _Queries:
    """Where each query's rows are: row i belongs to the query `ids[codes[i]]`."""

    ids: list[str]
    codes: npt.NDArray[np.int64]


def parsed(block: bytes) -> Rows | None:
    """The rows of a perfectly regular block, else None."""
    if not block:
        return None
    buffer = np.frombuffer(block, dtype=np.uint8)
    separators = np.flatnonzero(buffer <= SPACE)
    lines = block.count(b"\n")
    if len(separators) != COLUMNS * lines or lines == 0:
        return None
    ends = separators.reshape(lines, COLUMNS)
    starts = np.concatenate(([0], separators[:-1] + 1)).reshape(lines, COLUMNS)
    lengths = ends - starts
    between = buffer[ends[:, :-1]]
    tidy = (
        (buffer[ends[:, -1]] == NEWLINE).all() and ((between == SPACE) | (between == ord("\t"))).all() and lengths.all()
    )
    if not tidy or (buffer[starts[:, 0]] == ord("#")).any():
        return None
    docnos = _cut(buffer, starts[:, 2], lengths[:, 2])
    try:
        scores = _cut(buffer, starts[:, 4], lengths[:, 4]).astype(np.float64)
        texts = docnos.astype(TEXT)
        tag = block[starts[0, 5] : ends[0, 5]].decode()
    except ValueError:  # a score that is no number, or an id that is no UTF-8
        return None
    if not np.isfinite(scores).all():
        return None
    return Rows(_cut(buffer, starts[:, 0], lengths[:, 0]), texts, _hashed(docnos), scores, tag)


def _cut(buffer: Bytes, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.bytes_]:
    """A column as fixed-width bytes, a multiple of 8 wide so that it can be hashed as words."""
    width = -(-int(lengths.max()) // 8) * 8
    padded = np.concatenate((buffer, np.zeros(width, dtype=np.uint8)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)[starts]
    cells = np.where(np.arange(width) < lengths[:, None], windows, np.uint8(0))
    return np.ascontiguousarray(cells).view(f"S{width}").ravel()


def _hashed(column: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each cell that does not depend on the width of the column."""
    words = column.view(np.uint64).reshape(len(column), -1)
    result = np.zeros(len(column), dtype=np.uint64)
    for place in range(words.shape[1]):
        word = words[:, place] * np.uint64(0x9E3779B97F4A7C15 + 2 * place)
        result ^= (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return result


def _run(path: Path, blocks: list[Rows]) -> Run:
    queries = _queries([rows.qids for rows in blocks])
    docnos = np.concatenate([rows.docnos for rows in blocks])
    scores = np.concatenate([rows.scores for rows in blocks])
    _refuse_doubles(path, queries, docnos, np.concatenate([rows.keys for rows in blocks]))
    if (np.diff(queries.codes) < 0).any():  # a query's lines do not stand together
        order = np.argsort(queries.codes, kind="stable")
        docnos, scores = docnos[order], scores[order]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(queries.codes, minlength=len(queries.ids)))))
    return Run.from_columns(queries.ids, offsets, docnos, scores, tag=blocks[0].tag)


def _queries(columns: list[npt.NDArray[np.bytes_]]) -> _Queries:
    """Codes for the query ids, by first appearance; only places where the id changes are looked at in Python."""
    codes: dict[bytes, int] = {}
    parts = []
    for column in columns:
        changes = np.concatenate(([0], np.flatnonzero(column[1:] != column[:-1]) + 1))
        names = [codes.setdefault(name, len(codes)) for name in column[changes].tolist()]
        parts.append(np.repeat(names, np.diff(np.append(changes, len(column)))))
    return _Queries([name.decode() for name in codes], np.concatenate(parts).astype(np.int64))


def _refuse_doubles(path: Path, queries: _Queries, docnos: Strings, keys: npt.NDArray[np.uint64]) -> None:
    """Raise where a query has a document twice. Equal hashes are only a hint: the ids themselves decide."""
    keys = keys + queries.codes.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    ordered = np.sort(keys)
    suspects = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(suspects):
        return
    seen = set[tuple[int, str]]()
    for row in np.flatnonzero(np.isin(keys, suspects)).tolist():
        pair = (int(queries.codes[row]), str(docnos[row]))
        if pair in seen:
            qid = queries.ids[pair[0]]
            expected = f"each document once for query {qid}"
            raise FormatError(
                path, _line_of(path, qid, pair[1]), expected=expected, found=Phrase(f'"{pair[1]}" a second time')
            )
        seen.add(pair)


def _line_of(path: Path, qid: str, docno: str) -> int | None:
    """The line on which a document stands for the second time; the file is read once more, only to say so."""
    lines = (
        number
        for number, line in enumerate(byte_lines(path, Reading()), 1)
        if line.decode(errors="replace").split()[:3:2] == [qid, docno]
    )
    next(lines, None)
    return next(lines, None)


def _blocks(path: Path, reading: Reading) -> Iterator[tuple[int, bytes]]:
    """Some megabytes of whole lines at a time, with the number of the first line."""
    first = 1
    for block in byte_blocks(path, reading, BLOCK):
        yield first, block
        first += block.count(b"\n")


def _regular(path: Path, first: int, block: bytes, reading: Reading) -> bytes:
    """The good lines of a block with single spaces; the bad ones are problems."""
    good = []
    for number, line in enumerate(block.split(b"\n"), first):
        parts = line.split()
        if not parts or parts[0].startswith(b"#"):
            continue
        mistake = _mistake(parts)
        if mistake is None:
            good.append(b" ".join(parts))
        else:
            reading.problems.add(FormatError(path, number, expected=mistake, found=line.rstrip(b"\r")))
    return b"\n".join(good) + b"\n" if good else b""


def _mistake(parts: list[bytes]) -> str | None:
    """What was expected of a line instead, or None where it is as it should be."""
    if len(parts) != COLUMNS:
        return f"{EXPECTED}, not {len(parts)}"
    try:
        b" ".join(parts).decode()
    except UnicodeDecodeError:
        return "UTF-8 text"
    try:
        return None if np.isfinite(float(parts[4])) else "a finite score"
    except ValueError:
        return f"a number as the score, not {shown(parts[4])}"
