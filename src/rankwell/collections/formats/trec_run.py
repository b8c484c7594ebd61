"""TREC runs: `qid Q0 docno rank score tag`. Scores decide the order; the rank column is not used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.collections.format import RunFormat
from rankwell.collections.formats.trec import first_row, is_whole, spaceless
from rankwell.collections.reading import Reading, byte_blocks, byte_lines, in_utf8, output
from rankwell.core import TEXT, Floats, Phrase, Run, Strings, shown

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

WORD = 8
MASKS: Words = np.array([(1 << (8 * size)) - 1 for size in range(WORD + 1)], dtype=np.uint64)
"""The first 0 to 8 bytes of a word."""

MOST_DIGITS = 15  # integers of up to so many digits are exact in 64-bit floats
POWERS = 10.0 ** np.arange(WORD + 1)
MINUS = ord("-")
ONE = np.uint64(1)
# The same byte eight times.
ONES, ZEROS, POINTS, NINES_TO_HIGH, HIGH = (
    np.uint64(0x0101010101010101 * byte) for byte in (1, ord("0"), ord("."), 0x80 - 10, 0x80)
)

# For a number of so many bytes: how far it is from the end of a word, and zeros ("0") in its place.
SHIFTS: Words = np.array([8 * min(WORD - size, WORD - 1) for size in range(WORD + 1)], dtype=np.uint64)
SHIFTED_ZEROS: Words = ZEROS << SHIFTS


def word_view(buffer: Bytes, beyond: int) -> Words:
    """The eight bytes that start at each place of the buffer, as a number; `beyond` zeros follow its end."""
    padded = np.concatenate((buffer, np.zeros(beyond, dtype=np.uint8)))
    return np.ndarray((len(padded) - WORD + 1,), dtype="<u8", buffer=padded.data, strides=(1,))


def decimals(buffer: Bytes, starts: Places, lengths: Places) -> npt.NDArray[np.float64] | None:
    """The numbers at these places, each the nearest 64-bit float; None where one is not a plain decimal."""
    ends = starts + lengths
    negative = buffer[starts] == MINUS
    starts = starts + negative
    windows = word_view(buffer, WORD)
    words = windows[starts]
    points = _bytes_that_are(POINTS, words)
    if not points.all():
        return None
    lowest = points & (~points + ONE)
    before = (np.bitwise_count(lowest - ONE) >> 3).astype(np.int64)  # whole bytes below the lowest mark
    after = ends - starts - before - 1
    short = (before >= 1) & (after >= 1) & (after <= WORD) & (before + after <= MOST_DIGITS)
    if not short.all():
        return None
    whole, parts = _digits(words, before), _digits(windows[starts + before + 1], after)
    if whole is None or parts is None:
        return None
    scale = POWERS[after]
    # A whole number below 2**53 divided by a power of ten below 10**22 is rounded once: the nearest float.
    numbers: npt.NDArray[np.float64] = (whole * scale + parts) / scale
    numbers[negative] *= -1
    return numbers


def _bytes_that_are(wanted: np.uint64, words: Words) -> Words:
    """The high bit of each byte that is the wanted one; bits above the lowest mark may be wrong.

    (Mycroft's test for a zero byte, 1987.)
    """
    different = words ^ wanted
    return (different - ONES) & ~different & HIGH


def _digits(words: Words, lengths: Places) -> npt.NDArray[np.float64] | None:
    """The numbers that the first `lengths` bytes of each word spell; None where one of them is no digit.

    The bytes are shifted to the end of the word, which drops what follows them and puts zeros before them, and then
    added up in pairs, in fours and in eights (Lemire, "Quickly parsing eight digits", 2018).
    """
    digits = (words << SHIFTS[lengths]) - SHIFTED_ZEROS[lengths]
    if (((digits + NINES_TO_HIGH) | digits) & HIGH).any():
        return None
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    low, high = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
    mask = np.uint64(0x000000FF000000FF)
    eights = ((pairs & mask) * low + ((pairs >> np.uint64(16)) & mask) * high) >> np.uint64(32)
    return eights.astype(np.float64)


COLUMNS = 6
EXPECTED = "6 columns (qid Q0 docno rank score tag)"
BLOCK = 1 << 18
SPACE, TAB, NEWLINE, COMMENT = b" \t\n#"
SPARSE = 16  # a block is halved where a column is so many times as wide as its cells
INFINITE = 2.0**128 - 2.0**103  # from here on a number is infinite in 32 bits
WIDEST = 64  # ids up to this length stay fixed-width bytes until the end, which are faster to reorder


def _is_run(_: Path, start: str) -> bool:
    """Whether the first line that is not a comment has six columns (or more, and a rank in its place).

    With Q0 in the second column it is a run, whose other mistakes are reported when it is read.
    """
    parts = first_row(start)
    return len(parts) == COLUMNS or (len(parts) > COLUMNS and is_whole(parts[3])) or parts[1:2] == ["Q0"]


def _read(path: Path, reading: Reading) -> Run:
    """Read the run; its tag is that of the first line."""
    blocks: list[Rows] = []
    for first, raw in byte_blocks(path, reading, BLOCK):
        block = in_utf8(path, first, raw, reading)
        rows = parsed(block)
        if rows is None:
            rows = parsed(_regular(path, first, block, reading)) or []
        reading.progress.advance(sum(len(part.scores) for part in rows))
        blocks += rows
    return _run(path, blocks, reading) if blocks else Run.from_dict({})


def _write(path: Path, run: Run) -> None:
    """Write ranks from 1, and scores with just enough digits to read back the same 32-bit number."""
    tag = spaceless("_".join(run.tag.split()) or "rankwell", path).encode()
    with output(path) as file:
        for qid, ranking in run.rankings():
            spaceless(qid, path, first=True)
            scores = ranking.scores.astype(TEXT).tolist()
            for rank, (docno, score) in enumerate(zip(ranking.docnos.tolist(), scores, strict=True), 1):
                file.write(f"{qid} Q0 {spaceless(docno, path)} {rank} {score} ".encode() + tag + b"\n")


# Six columns separated by spaces or tabs; lines that start with # are comments. Text after the tag is reserved by
# trec_eval, and ignored as there.
RUN = RunFormat("trec", _is_run, _read, _write, (".trec", ".run", ".res", ".txt"))


class Cells(NamedTuple):
    """Where the cells of a column are in a block."""

    starts: Places
    lengths: Places


class Rows(NamedTuple):
    """The columns of a block that are used; `keys` are hashes of the document ids."""

    qids: npt.NDArray[np.bytes_]
    docnos: Strings
    keys: Words
    scores: Floats
    tag: str


@dataclass(frozen=True)
class _Queries:
    """The rows of each query: row i belongs to the query `ids[codes[i]]`, which has `sizes[codes[i]]` rows."""

    ids: list[str]
    sizes: list[int]
    codes: npt.NDArray[np.int32]
    together: bool  # whether each query's rows are contiguous


def parsed(block: bytes) -> list[Rows] | None:
    """The rows of a regular block; None for any other block."""
    if not block:
        return None
    buffer = np.frombuffer(block, dtype=np.uint8)
    separators = np.flatnonzero(buffer <= SPACE)
    lines, beyond = divmod(len(separators), COLUMNS)
    if beyond or not lines or not _is_tidy(buffer[separators], separators):
        return None
    ends = separators.reshape(lines, COLUMNS)
    starts = np.concatenate(([0], ends[:-1, -1] + 1)), ends[:, 1] + 1, ends[:, 3] + 1
    cells = [Cells(start, ends[:, column] - start) for start, column in zip(starts, (0, 2, 4), strict=True)]
    if (buffer[cells[0].starts] == COMMENT).any():
        return None
    if lines > 1 and max(int(column.lengths.max()) for column in cells) * lines > SPARSE * len(block):
        # One giant cell would make the whole column as wide.
        middle = int(ends[lines // 2 - 1, -1]) + 1
        first, second = parsed(block[:middle]), parsed(block[middle:])
        return None if first is None or second is None else first + second
    try:
        rows = _rows(block, buffer, cells, block[ends[0, 4] + 1 : ends[0, 5]].decode())
    except ValueError:  # a score that is no number, or text that is no UTF-8
        return None
    return [rows] if np.isfinite(rows.scores).all() else None


def _is_tidy(kinds: Bytes, separators: Places) -> bool:
    """Whether every line has its columns and one space or tab between them; `kinds` are the separating bytes."""
    feeds = kinds == NEWLINE
    in_place = feeds[COLUMNS - 1 :: COLUMNS].all() and feeds.sum() == len(kinds) // COLUMNS
    known = (feeds | (kinds == SPACE) | (kinds == TAB)).all()
    return bool(in_place and known and separators[0] > 0 and (np.diff(separators) > 1).all())


def _rows(block: bytes, buffer: Bytes, cells: list[Cells], tag: str) -> Rows:
    plain = block.isascii()
    if not plain:
        block.decode()
    qids, docnos = (_cut(buffer, *column) for column in cells[:2])
    scores = decimals(buffer, *cells[2])
    if scores is None:
        scores = _cut(buffer, *cells[2]).astype(np.float64)
    texts = docnos if plain and docnos.itemsize <= WIDEST else docnos.astype(TEXT)
    with np.errstate(over="ignore"):  # what is too large for 32 bits becomes infinite, which is refused
        return Rows(qids, texts, _hashed(docnos), scores.astype(np.float32), tag)


def _cut(buffer: Bytes, starts: Places, lengths: Places) -> npt.NDArray[np.bytes_]:
    """A column as fixed-width bytes: eight bytes are taken at a time, and what lies beyond a cell is masked out."""
    words = -(-int(lengths.max()) // WORD)
    windows = word_view(buffer, WORD * words)
    cells = np.empty((len(starts), words), dtype="<u8")
    for place in range(words):
        inside = np.clip(lengths - WORD * place, 0, WORD)
        cells[:, place] = windows[starts + WORD * place] & MASKS[inside]
    return cells.view(f"S{WORD * words}").ravel()


def _hashed(column: npt.NDArray[np.bytes_]) -> Words:
    """A 64-bit hash of each cell that does not depend on the width of the column (a word of zeros adds nothing)."""
    words = column.view("<u8").reshape(len(column), -1)
    result = np.zeros(len(column), dtype=np.uint64)
    for place in range(words.shape[1]):
        word = words[:, place] * np.uint64(0x9E3779B97F4A7C15 + 2 * place)
        result ^= (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return result


def _run(path: Path, blocks: list[Rows], reading: Reading) -> Run:
    queries = _queries([rows.qids for rows in blocks])
    wide = any(rows.docnos.dtype == TEXT for rows in blocks)
    docnos: Strings = np.concatenate([rows.docnos.astype(TEXT) if wide else rows.docnos for rows in blocks])
    scores = np.concatenate([rows.scores for rows in blocks])
    doubles = _doubles(queries, docnos, [rows.keys for rows in blocks])
    if doubles:
        _tell_doubles(path, [(queries.ids[queries.codes[row]], docno) for row, docno in doubles.items()], reading)
        kept = np.ones(len(docnos), dtype=bool)
        kept[list(doubles)] = False
        codes = queries.codes[kept]
        sizes = np.bincount(codes, minlength=len(queries.ids)).tolist()
        queries, docnos, scores = replace(queries, codes=codes, sizes=sizes), docnos[kept], scores[kept]
    if not queries.together:
        order = np.argsort(queries.codes, kind="stable")
        docnos, scores = docnos[order], scores[order]
    return Run.from_columns(queries.ids, np.cumsum([0, *queries.sizes]), docnos, scores, tag=blocks[0].tag)


def _queries(columns: list[npt.NDArray[np.bytes_]]) -> _Queries:
    """Codes for the query ids, by first appearance; Python handles only the places where the id changes."""
    codes: dict[bytes, int] = {}
    sizes: list[int] = []
    parts, last, together = [], -1, True
    for column in columns:
        words = column.view("<u8").reshape(len(column), -1)  # compared as numbers, which is quicker than as text
        changes = np.concatenate(([0], np.flatnonzero((words[1:] != words[:-1]).any(axis=1)) + 1, [len(column)]))
        spans = np.diff(changes)
        names = [codes.setdefault(name, len(codes)) for name in column[changes[:-1]].tolist()]
        sizes += [0] * (len(codes) - len(sizes))
        for code, size in zip(names, spans.tolist(), strict=True):
            together &= code == last or sizes[code] == 0
            sizes[code] += size
            last = code
        parts.append(np.repeat(np.array(names, dtype=np.int32), spans))
    return _Queries([name.decode() for name in codes], sizes, np.concatenate(parts), together)


def _doubles(queries: _Queries, docnos: Strings, hashes: list[Words]) -> dict[int, str]:
    """The rows whose document the query has already. Rows with equal hashes are compared by id."""
    keys = _keys(queries, hashes)
    keys.sort()
    suspects = keys[1:][keys[1:] == keys[:-1]]
    if not len(suspects):
        return {}
    seen = set[tuple[int, str]]()
    doubles: dict[int, str] = {}
    rows = np.flatnonzero(np.isin(_keys(queries, hashes), suspects))
    pairs = zip(queries.codes[rows].tolist(), docnos[rows].astype(TEXT).tolist(), strict=True)
    for row, pair in zip(rows.tolist(), pairs, strict=True):
        if pair in seen:
            doubles[row] = pair[1]
        seen.add(pair)
    return doubles


def _keys(queries: _Queries, hashes: list[Words]) -> Words:
    """The hash of each row's document, mixed with its query."""
    keys = queries.codes.astype(np.uint64)
    keys *= np.uint64(0xD6E8FEB86659FD93)
    keys += np.concatenate(hashes)
    return keys


def _tell_doubles(path: Path, doubles: list[tuple[str, str]], reading: Reading) -> None:
    """Report each line that repeats a document; the file is read again for the line numbers."""
    wanted = {(qid.encode(), docno.encode()) for qid, docno in doubles}
    seen = set[tuple[bytes, bytes]]()
    for number, line in enumerate(byte_lines(path, reading.unseen), 1):
        parts = in_utf8(path, number, line, reading.unseen).split()
        pair = (parts[0], parts[2]) if _mistake(parts) is None else (b"", b"")
        if pair in seen:
            again = Phrase(f"{shown(pair[1])} a second time")
            reading.report(path, number, f"each document once for query {shown(pair[0])}", again)
        elif pair in wanted:
            seen.add(pair)


def _regular(path: Path, first: int, block: bytes, reading: Reading) -> bytes:
    """The good lines of a block with single spaces; the bad ones are problems."""
    good = []
    for number, line in enumerate(block.split(b"\n"), first):
        parts = line.split()
        if not parts or parts[0].startswith(b"#"):
            continue
        mistake = _mistake(parts)
        if mistake is None:
            good.append(b" ".join(parts[:COLUMNS]))
        else:
            written = line.rstrip(b"\r")
            found = Phrase(f"{len(parts)}: {shown(written)}") if mistake is EXPECTED else written
            reading.report(path, number, mistake, found)
    return b"\n".join(good) + b"\n" if good else b""


def _mistake(parts: list[bytes]) -> str | None:
    """The expectation that a line violates, or None where it is correct."""
    if len(parts) < COLUMNS or (len(parts) > COLUMNS and not parts[3].isdigit()):
        return EXPECTED
    try:
        b"".join(parts[:COLUMNS]).decode()
    except UnicodeDecodeError:
        return "UTF-8 text (for another encoding use --encoding)"
    if min(b"".join(parts[:COLUMNS])) <= SPACE:
        return "ids without control characters"
    try:
        return None if abs(float(parts[4])) < INFINITE else "a finite score"
    except ValueError:
        return f"a number as the score, not {shown(parts[4])}"
