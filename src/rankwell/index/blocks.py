"""A file of named arrays in blocks with checksums, and lists of short texts in it."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson

from rankwell.core import RankwellError
from rankwell.core.text_column import TextColumn

# Documents are scored in windows of this size, so that a window's accumulators stay in the first-level cache.
WINDOW = 8192
# The postings of a term with at least this many documents, and SPARSE per window, are divided by window.
FREQUENT = 256
SPARSE = 8
# Frequencies are stored in a byte; this value marks larger ones, which are stored apart.
LARGE = 255
# The length of a missing field.
MISSING = np.uint32(0xFFFFFFFF)
# Size of a reader's cache of term positions: queries may contain any number of unknown words.
MOST_REMEMBERED = 500_000
# The pseudo-field of all indexed fields together.
COMBINED = ""

Array = np.ndarray[Any, Any]


def windows(documents: int) -> int:
    """Number of windows of a segment with this many documents."""
    return -(-documents // WINDOW)


def frequent_from(documents: int) -> int:
    """The least number of documents of a frequent term, so that the windows' table stays small beside the postings."""
    return max(FREQUENT, SPARSE * windows(documents))


MAGIC = b"RANKWELL"
VERSION = 1
HEADER = struct.Struct("<8s8sI44x")
TRAILER = struct.Struct("<QQQII8s")  # directory: offset, length, length of its JSON, CRC; CRC of the four; magic
BLOCK = 1 << 16
ALIGNMENT = 64


class BlockWriter:
    """Writes a file sequentially, section after section."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self._file = path.open("xb")
        self._place = 0
        self._checksums: list[int] = []
        self._running = 0  # checksum of the unfinished block
        self._sections: dict[str, tuple[str, int, int]] = {}
        self._write(HEADER.pack(MAGIC, kind.encode(), VERSION))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()

    def add(self, name: str, array: Array) -> None:
        """Write an array as a section."""
        self.begin(name, array.dtype)
        self.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def begin(self, name: str, dtype: Any) -> None:
        """Begin a section, which `append` fills."""
        self._write(bytes(-self._place % ALIGNMENT))
        self._sections[name] = (np.dtype(dtype).str, self._place, 0)

    def append(self, data: bytes | memoryview) -> int:
        """Append to the current section; return the offset in it."""
        name, (dtype, start, length) = self._sections.popitem()
        self._sections[name] = (dtype, start, length + len(data))
        self._write(data)
        return length

    def finish(self, facts: Mapping[str, Any]) -> tuple[int, int]:
        """Write directory and trailer, and sync. Returns the file's size and its directory's checksum."""
        self._write(bytes(-self._place % ALIGNMENT))
        text = orjson.dumps({"sections": self._sections, "facts": facts})
        where = self._place
        checksums = [*self._checksums, self._running] if where % BLOCK else self._checksums
        directory = text + np.array(checksums, dtype="<u4").tobytes()
        checksum = zlib.crc32(directory)
        numbers = struct.pack("<QQQI", where, len(directory), len(text), checksum)
        self._file.write(directory + numbers + struct.pack("<I8s", zlib.crc32(numbers), MAGIC))
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell(), checksum

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        view = memoryview(data)
        while view:
            taken = min(BLOCK - self._place % BLOCK, len(view))
            self._running = zlib.crc32(view[:taken], self._running)
            self._place += taken
            if self._place % BLOCK == 0:
                self._checksums.append(self._running)
                self._running = 0
            view = view[taken:]


class BlockChecks:
    """The checksums of a file's blocks, each compared once.

    File and sections share it, so that neither refers to the other: a file that nobody uses any more is closed at once,
    and not when the garbage collector finds a cycle.
    """

    def __init__(self, path: Path, data: Array, end: int, checksums: list[int]) -> None:
        self._path, self._bytes, self._end, self._checksums = path, data, end, checksums
        self._checked = bytearray(len(checksums))

    def check(self, start: int, end: int) -> None:
        """Check the blocks of these bytes, unless they are checked already."""
        first, last = start // BLOCK, -(-end // BLOCK)
        if end <= start or self._checked.find(0, first, last) < 0:
            return
        for block in range(first, last):
            if not self._checked[block]:
                data = self._bytes[block * BLOCK : min((block + 1) * BLOCK, self._end)]
                if zlib.crc32(data.data) != self._checksums[block]:
                    raise RankwellError(f"{self._path}: damaged: the checksum of block {block} does not fit")
                self._checked[block] = 1

    def verify(self) -> None:
        """Check all blocks again."""
        self._checked = bytearray(len(self._checksums))
        self.check(0, self._end)


class BlockSection:
    """An array in a memory-mapped file; parts are read and checked on demand."""

    def __init__(self, checks: BlockChecks, data: Array, dtype: str, start: int, length: int) -> None:
        self._checks, self._start, self.whole = checks, start, False
        self.unchecked: Array = data[start : start + length].view(np.dtype(dtype))

    def __len__(self) -> int:
        return len(self.unchecked)

    def part(self, start: int, end: int) -> Array:
        """A part of the array, checked."""
        if not self.whole:
            width = self.unchecked.itemsize
            self._checks.check(self._start + start * width, self._start + end * width)
        return self.unchecked[start:end]

    def all(self) -> Array:
        """The whole array, checked."""
        if not self.whole:
            self.part(0, len(self.unchecked))
            self.whole = True
        return self.unchecked

    def one(self, place: int) -> int:
        """A single integer, checked."""
        return int(self.part(place, place + 1)[0])


class BlockFile:
    """A finished file, mapped into memory."""

    def __init__(self, path: Path, kind: str, *, size: int | None = None, checksum: int | None = None) -> None:
        self.path = path
        self.bytes = _mapped(path)
        self.size = len(self.bytes)
        _check_header(path, self.bytes, kind)
        if size is not None and size != self.size:
            raise RankwellError(f"{path}: damaged: expected {size} bytes, found {self.size}")
        where, length, text, stored = self._trailer()
        if checksum is not None and checksum != stored:
            raise RankwellError(f"{path}: damaged: expected the file that was committed, found another one")
        directory = self.bytes[where : where + length].tobytes()
        if zlib.crc32(directory) != stored:
            raise RankwellError(f"{path}: damaged: the directory's checksum does not fit")
        listed = orjson.loads(directory[:text])
        self.facts: dict[str, Any] = listed["facts"]
        checksums = np.frombuffer(directory, dtype="<u4", offset=text).tolist()
        self._checks = BlockChecks(path, self.bytes, where, checksums)
        self._sections = {
            name: BlockSection(self._checks, self.bytes, *parts) for name, parts in listed["sections"].items()
        }

    def __getitem__(self, name: str) -> BlockSection:
        return self._sections[name]

    def __contains__(self, name: str) -> bool:
        return name in self._sections

    def sizes(self) -> dict[str, int]:
        """The bytes of each section."""
        return {name: section.unchecked.nbytes for name, section in self._sections.items()}

    def verify(self) -> None:
        """Check all blocks again."""
        self._checks.verify()

    def _trailer(self) -> tuple[int, int, int, int]:
        trailer = self.bytes[-TRAILER.size :].tobytes()
        if len(trailer) < TRAILER.size or trailer[-8:] != MAGIC:
            raise RankwellError(f"{self.path}: damaged: the end of the file is missing")
        where, length, text, checksum, own, _ = TRAILER.unpack(trailer)
        if zlib.crc32(trailer[: -len(MAGIC) - 4]) != own or where + length + TRAILER.size != self.size:
            raise RankwellError(f"{self.path}: damaged: the end of the file does not fit")
        return where, length, text, checksum


# Smaller files are read: a mapping keeps a descriptor, and an index that is written all the time has many small files.
READ_WHOLE = 1 << 16


def _mapped(path: Path) -> Array:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise RankwellError(f"{path}: damaged: the file is empty")
            if size <= READ_WHOLE:
                return np.frombuffer(file.read(), dtype=np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error


def _check_header(path: Path, data: Array, kind: str) -> None:
    header = data[: HEADER.size].tobytes()
    if len(header) < HEADER.size or header[: len(MAGIC)] != MAGIC:
        raise RankwellError(f"{path}: expected a file of a Rankwell index, found something else")
    _, name, version = HEADER.unpack(header)
    if version > VERSION:
        raise RankwellError(
            f"{path}: written by a newer Rankwell (format {version}, this one reads {VERSION}): please update"
        )
    actual = name.rstrip(b"\0").decode("ascii", "replace")
    if version != VERSION or actual != kind:
        raise RankwellError(f"{path}: expected a file of kind {kind!r}, found {actual!r} (format {version})")


MOST_BYTES = 1 << 32


def add_texts(file: BlockWriter, name: str, texts: Sequence[str]) -> None:
    """Write a list of texts without NUL."""
    data = "".join([text + "\0" for text in texts]).encode()
    if len(data) >= MOST_BYTES:
        raise RankwellError(f"{file.path}: expected less than 4 GiB of {name} in a segment, found {len(data)} bytes")
    array = np.frombuffer(data, dtype=np.uint8)
    starts = np.zeros(len(texts) + 1, dtype=np.uint32)
    starts[1:] = np.flatnonzero(array == 0) + 1
    file.add(name, array)
    file.add(f"{name}:starts", starts)


class Texts:
    """A list of texts in a mapped file."""

    def __init__(self, file: BlockFile, name: str) -> None:
        self._data, self._starts = file[name], file[f"{name}:starts"]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> str:
        return self.encoded(place).decode()

    def encoded(self, place: int) -> bytes:
        """One text, as UTF-8 bytes."""
        if self._starts.whole and self._data.whole:  # everything is checked, as after `column`: half the time
            starts = self._starts.unchecked
            return self._data.unchecked[starts.item(place) : starts.item(place + 1) - 1].tobytes()
        start, end = self._starts.part(place, place + 2).tolist()
        return self._data.part(start, end - 1).tobytes()

    def all(self) -> list[str]:
        """All texts, in order."""
        return self._data.all().tobytes().decode().split("\0")[:-1]

    def column(self) -> TextColumn:
        """All texts as one column."""
        return TextColumn(self._data.all(), self._starts.all())

    def find(self, text: str, *, descending: bool = False) -> int | None:
        """The position of a text in a sorted list, or None."""
        wanted = text.encode("utf-8", "surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            candidate = self.encoded(middle)
            if candidate == wanted:
                return middle
            if (candidate < wanted) != descending:
                low = middle + 1
            else:
                high = middle
        return None
