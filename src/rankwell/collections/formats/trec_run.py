"""TREC runs: `qid Q0 docno rank score tag`. Scores decide the order; the rank column is not used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.collections.format import RunFormat
from rankwell.collections.formats.trec import first_row, is_whole
from rankwell.collections.formats.trec_ids import MARK, IdColumns, check_name, restored
from rankwell.collections.formats.trec_lines import BLOCK as LARGE_BLOCK
from rankwell.collections.formats.trec_lines import ParsedLines, blocks_of, formatted, is_large, parse, repeated
from rankwell.collections.formats.trec_numbers import MASKS, WORD, Bytes, Places, Words, decimals, word_view
from rankwell.collections.reading import Reading, byte_blocks, byte_lines, in_utf8, output
from rankwell.core import TEXT, Floats, Phrase, Run, Strings, shown
from rankwell.core.run_lines import cores, in_order
from rankwell.core.text_column import TextColumn

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
    if is_large(path) and (run := _read_large(path, reading)) is not None:
        return run
    blocks: list[Rows] = []
    for first, raw in byte_blocks(path, reading, BLOCK):
        rows = _any_rows(path, first, in_utf8(path, first, raw, reading), reading)
        reading.progress.advance(sum(len(part.scores) for part in rows))
        blocks += rows
    return _run(path, blocks, reading) if blocks else Run.from_dict({})


def _any_rows(path: Path, first: int, block: bytes, reading: Reading) -> list[Rows]:
    """The good rows of a block; the bad ones are problems."""
    rows = parsed(block)
    return parsed(_regular(path, first, block, reading)) or [] if rows is None else rows


def _read_large(path: Path, reading: Reading) -> Run | None:
    """The same with compiled loops; None where the file's encoding must be told first."""
    whole = (in_utf8(path, first, raw, reading) for first, raw in byte_blocks(path, reading, LARGE_BLOCK))
    pieces = blocks_of(path, reading)
    guessed = pieces is not None
    blocks: list[ParsedLines] = []
    number = 1
    for block, lines in in_order(
        _parse_piece, pieces or (np.frombuffer(raw, np.uint8) for raw in whole), cores(reading.threads)
    ):
        plain = lines.is_ascii if lines else block.tobytes().isascii()
        if guessed and not plain:
            return None
        if lines is None or not (plain or _is_utf8(block.tobytes())):
            some = [_as_lines(rows) for rows in _any_rows(path, number, block.tobytes(), reading)]
        else:
            some = [lines]
        blocks += some
        number += int((block == NEWLINE).sum()) if lines is None else len(lines.scores)
        reading.progress.advance(sum(len(part.scores) for part in some))
    return _joined(path, blocks, reading) if blocks else Run.from_dict({})


def _parse_piece(block: Bytes) -> tuple[Bytes, ParsedLines | None]:
    return block, parse(block)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_lines(rows: Rows) -> ParsedLines:
    docnos = rows.docnos.tolist()
    texts = docnos if rows.docnos.dtype.kind == "S" else [docno.encode() for docno in docnos]
    return ParsedLines(*_changes(rows.qids), TextColumn.of(texts), rows.scores, rows.tag, is_ascii=False)


def _joined(path: Path, blocks: list[ParsedLines], reading: Reading) -> Run:
    """The run of these blocks, without repeated documents, which are problems."""
    queries = _queries([(lines.qids, lines.sizes) for lines in blocks])
    column, scores = TextColumn.joined(lines.docnos for lines in blocks), np.concatenate([b.scores for b in blocks])
    tag, sizes = blocks[0].tag, np.array(queries.sizes)
    blocks.clear()
    order = None if queries.together else np.argsort(queries.codes, kind="stable")
    if order is not None:
        column, scores = column[order], scores[order]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    doubles = repeated(offsets, column, reading.threads)
    if len(doubles):
        places = np.searchsorted(offsets, doubles, side="right") - 1
        again = zip(places.tolist(), column[doubles].tolist(), strict=True)
        _tell_doubles(path, [(queries.ids[place], docno) for place, docno in again], reading)
        kept = np.ones(len(column), dtype=bool)
        kept[doubles] = False
        sizes -= np.bincount(places, minlength=len(sizes))
        column, scores = column[kept], scores[kept]
    return Run.from_columns(queries.ids, np.concatenate(([0], np.cumsum(sizes))), column, scores, tag=tag)


def _write(path: Path, run: Run, threads: int | None) -> None:
    """Write ranks from 1, and scores with just enough digits to read back the same 32-bit number."""
    tag = check_name("_".join(run.tag.split()) or "rankwell", path)
    spaceless = isinstance(run.docnos, TextColumn) and not run.docnos.has_blanks
    ids = IdColumns("Q0", path, run.qids, blanks=not spaceless and bool((np.strings.find(run.docnos, " ") >= 0).any()))
    with output(path) as file:
        blocks = formatted(run, "Q0", tag, threads) if ids.plain else None
        for block in blocks or ():
            file.write(block)
        if blocks is not None:
            return
        for qid, ranking in run.rankings():
            scores = ranking.scores.astype(TEXT).tolist()
            for rank, (docno, score) in enumerate(zip(ranking.docnos.tolist(), scores, strict=True), 1):
                file.write(f"{ids.line(qid, docno)} {rank} {score} {tag}\n".encode())


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
        marked = buffer[ends[:, 1] - 1] == ord(MARK)
        rows = _rows(block, buffer, cells, block[ends[0, 4] + 1 : ends[0, 5]].decode(), marked)
    except ValueError:  # a score that is no number, or text that is no UTF-8
        return None
    return [rows] if np.isfinite(rows.scores).all() else None


def _is_tidy(kinds: Bytes, separators: Places) -> bool:
    """Whether every line has its columns and one space or tab between them; `kinds` are the separating bytes."""
    feeds = kinds == NEWLINE
    in_place = feeds[COLUMNS - 1 :: COLUMNS].all() and feeds.sum() == len(kinds) // COLUMNS
    known = (feeds | (kinds == SPACE) | (kinds == TAB)).all()
    return bool(in_place and known and separators[0] > 0 and (np.diff(separators) > 1).all())


def _rows(block: bytes, buffer: Bytes, cells: list[Cells], tag: str, marked: npt.NDArray[np.bool_]) -> Rows:
    plain = block.isascii()
    if not plain:
        block.decode()
    qids, docnos = (_cut(buffer, *column) for column in cells[:2])
    if marked.any():
        qids, docnos, plain = _restored(qids, marked), _restored(docnos, marked), False
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


def _restored(column: npt.NDArray[np.bytes_], marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bytes_]:
    """A column with the ids that the marked lines stand for."""
    names = [restored(name) if mark else name for name, mark in zip(column.tolist(), marked.tolist(), strict=True)]
    b"".join(names).decode()
    return np.array(names, dtype=column.dtype)


def _hashed(column: npt.NDArray[np.bytes_]) -> Words:
    """A 64-bit hash of each cell that does not depend on the width of the column (a word of zeros adds nothing)."""
    words = column.view("<u8").reshape(len(column), -1)
    result = np.zeros(len(column), dtype=np.uint64)
    for place in range(words.shape[1]):
        word = words[:, place] * np.uint64(0x9E3779B97F4A7C15 + 2 * place)
        result ^= (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return result


def _run(path: Path, blocks: list[Rows], reading: Reading) -> Run:
    queries = _queries([_changes(rows.qids) for rows in blocks])
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


def _changes(column: npt.NDArray[np.bytes_]) -> tuple[list[bytes], list[int]]:
    """The places where the query id changes: the id, and the number of its rows."""
    words = column.view("<u8").reshape(len(column), -1)  # compared as numbers, which is quicker than as text
    changes = np.concatenate(([0], np.flatnonzero((words[1:] != words[:-1]).any(axis=1)) + 1, [len(column)]))
    return column[changes[:-1]].tolist(), np.diff(changes).tolist()


def _queries(blocks: list[tuple[list[bytes], list[int]]]) -> _Queries:
    """Codes for the query ids, by first appearance; Python handles only the places where the id changes."""
    codes: dict[bytes, int] = {}
    sizes: list[int] = []
    parts, last, together = [], -1, True
    for column, spans in blocks:
        names = [codes.setdefault(name, len(codes)) for name in column]
        sizes += [0] * (len(codes) - len(sizes))
        for code, size in zip(names, spans, strict=True):
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
        if pair[0] and parts[1].endswith(MARK.encode()):
            pair = (restored(pair[0]), restored(pair[1]))
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
