"""Rankwell's own runs (`.rwrun`): columns as numbers, mapped into memory, for commands that hand runs to each other.

A header, then sections, each at a multiple of 64 bytes; all numbers are little-endian. `docs/collections.md` has the
layout. Checksums find damage; what they cannot find (numbers that point outside the file) is checked too.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from rankwell.collections.format import RunFormat
from rankwell.collections.reading import Reading
from rankwell.core import RankwellError, Run, Strings, atomic_write
from rankwell.core.text_column import TextColumn

Array = npt.NDArray[Any]

NAME = "rwrun"
SUFFIX = ".rwrun"
MAGIC = b"RANKWRUN"
VERSION = 1
ALIGNMENT = 64
# Each section with its type, in the order of the file.
SECTIONS = {"names": "u1", "offsets": "<i8", "scores": "<f4", "rows": "<u4", "starts": "<u4", "ids": "u1"}
HEADER = struct.Struct(f"<8sI{2 * len(SECTIONS)}QI")  # magic, version, bytes and checksum of each, own checksum
MOST_BYTES = 1 << 32  # of ids


def run_format(path: Path) -> str:
    """The format in which a command writes a run: by the file's ending our own, or TREC's."""
    return NAME if path.suffix == SUFFIX else "trec"


def _is_rwrun(path: Path, _: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _write(path: Path, run: Run, _: int | None) -> None:
    docnos: Strings | TextColumn = run.docnos
    try:
        names = np.frombuffer(orjson.dumps({"tag": run.tag, "qids": run.qids}), dtype=np.uint8)
        column = docnos if isinstance(docnos, TextColumn) else TextColumn.of([one.encode() for one in docnos.tolist()])
    except (TypeError, UnicodeEncodeError) as error:
        raise RankwellError(f"{path}: not written: an id has half a character, which UTF-8 cannot hold") from error
    if len(column) != len(run):
        raise RankwellError(f"{path}: expected ids without control characters, found one with a zero byte")
    rows, column = _compacted(column)
    if len(column.data) >= MOST_BYTES:
        raise RankwellError(
            f"{path}: expected less than 4 GiB of document ids, found {len(column.data)} bytes: use trec"
        )
    arrays = dict(zip(SECTIONS, (names, run.offsets, run.scores, rows, column.starts, column.data), strict=True))
    parts = [np.ascontiguousarray(arrays[name], dtype=dtype).view(np.uint8) for name, dtype in SECTIONS.items()]
    facts = [number for part in parts for number in (len(part), zlib.crc32(part.data))]
    head = HEADER.pack(MAGIC, VERSION, *facts, 0)[:-4]
    with atomic_write(path) as file:
        file.write(_padded(head + struct.pack("<I", zlib.crc32(head))))
        for part in parts:
            file.write(part.data)
            file.write(bytes(-len(part) % ALIGNMENT))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def _compacted(column: TextColumn) -> tuple[Array, TextColumn]:
    """The number of each row's text, and the texts that are used; no numbers where each row has a text of its own."""
    nothing = np.zeros(0, dtype=np.uint32)
    if column.rows is None:
        return nothing, column
    used, rows = np.unique(column.rows, return_inverse=True)
    begins, lengths = TextColumn(column.data, column.starts, used).spans(0, len(used))
    starts = np.concatenate(([0], np.cumsum(lengths + 1)))
    places = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], lengths + 1)  # with the zero behind each
    return rows, TextColumn(column.data[places], starts)


def _read(path: Path, reading: Reading) -> Run:
    """Map the run; nothing is copied but the scores."""
    sections = _sections(path)
    names = _names(path, sections["names"])
    offsets, rows, starts, ids = (sections[name] for name in ("offsets", "rows", "starts", "ids"))
    scores = sections["scores"]
    column = TextColumn(ids, starts, rows if len(rows) or not len(scores) else None)
    _expect(path, len(starts) > 0 and starts[0] == 0 and starts[-1] == len(ids), "ids that end where the file says")
    _expect(path, bool((starts[1:] > starts[:-1]).all()), "ids one after the other")
    _expect(path, int((ids == 0).sum()) == len(starts) - 1 and not ids[starts[1:] - 1].any(), "a zero behind each id")
    _expect(path, int(rows.max(initial=0)) < max(1, len(starts) - 1), "numbers of ids that are there")
    _expect(path, len(column) == len(scores), "an id for each score")
    _expect(path, _is_text(ids), "ids in UTF-8")
    try:
        run = Run.from_columns(names["qids"], offsets, column, scores, tag=names["tag"])
    except RankwellError as error:
        raise RankwellError(f"{path}: damaged: {error}") from error
    reading.progress.advance(len(run))
    return run


def _sections(path: Path) -> dict[str, Array]:
    """The arrays of a file whose checksums fit."""
    data = _mapped(path)
    head = data[: HEADER.size].tobytes()
    _expect(path, len(head) == HEADER.size and head[: len(MAGIC)] == MAGIC, "the header of a run")
    _, version, *facts, checksum = HEADER.unpack(head)
    if version > VERSION:
        raise RankwellError(f"{path}: written by a newer Rankwell (format {version}, this reads {VERSION}): update it")
    _expect(path, zlib.crc32(head[:-4]) == checksum and version == VERSION, "a header whose checksum fits")
    place, sections = len(_padded(head)), {}
    for (name, dtype), size, wanted in zip(SECTIONS.items(), facts[::2], facts[1::2], strict=True):
        part = data[place : place + size]
        _expect(path, len(part) == size and size % np.dtype(dtype).itemsize == 0, f"all of its {name}")
        _expect(path, zlib.crc32(part.data) == wanted, f"{name} whose checksum fits")
        sections[name] = part.view(dtype)
        place += size + -size % ALIGNMENT
    _expect(path, len(data) == place, "nothing behind its end")
    return sections


def _mapped(path: Path) -> npt.NDArray[np.uint8]:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return np.zeros(0, dtype=np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error


def _names(path: Path, section: Array) -> dict[str, Any]:
    try:
        names = orjson.loads(section.tobytes())
    except orjson.JSONDecodeError:
        names = None
    good = isinstance(names, dict) and isinstance(names.get("tag"), str) and isinstance(names.get("qids"), list)
    _expect(path, good and all(isinstance(qid, str) for qid in names["qids"]), "names of queries")
    return dict(names)


def _is_text(ids: Array) -> bool:
    try:
        ids.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _expect(path: Path, holds: bool, expected: str) -> None:
    if not holds:
        raise RankwellError(f"{path}: damaged: expected {expected}: write the run again")


RUN = RunFormat(NAME, _is_rwrun, _read, _write, (SUFFIX,))
