"""Lines of files, plain or gzipped: byte order marks, line endings and encodings dealt with once for all readers."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, RankwellError

GZIP = b"\x1f\x8b"
CUT = (EOFError, zlib.error, gzip.BadGzipFile)
OTHER_ENCODINGS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def open_bytes(path: Path, reading: Reading) -> BinaryIO:
    """The bytes of a file, unpacked if it is gzipped (told by its first bytes, not by its name)."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    start = raw.read(4)
    raw.seek(0)
    if start[:2] in OTHER_ENCODINGS and reading.encoding == "utf-8":
        raw.close()
        raise FormatError(
            path, 1, expected="UTF-8 text", found=Phrase(f"{OTHER_ENCODINGS[start[:2]]}: convert it to UTF-8 first")
        )
    reading.progress.watch(_position(raw), path.stat().st_size)
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if start[:2] == GZIP else raw


def byte_lines(path: Path, reading: Reading) -> Iterator[bytes]:
    """Lines as bytes with their endings; a byte order mark at the start is dropped, a cut gzip file is a problem."""
    number = 0
    with open_bytes(path, reading) as file:
        try:
            for number, line in enumerate(file, 1):
                yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        except CUT as error:
            reading.problems.add(_cut_short(path, number + 1, error))


def byte_blocks(path: Path, reading: Reading, size: int) -> Iterator[bytes]:
    """About `size` bytes at a time, always whole lines that end in a line feed; for readers that work on columns."""
    number = 1
    with open_bytes(path, reading) as file:
        try:
            while block := file.read(size):
                block += b"" if block.endswith(b"\n") else file.readline()
                block = block.removeprefix(codecs.BOM_UTF8) if number == 1 else block
                yield block if block.endswith(b"\n") else block + b"\n"
                number += block.count(b"\n")
        except CUT as error:
            reading.problems.add(_cut_short(path, number, error))


def text_lines(path: Path, reading: Reading) -> Iterator[tuple[int, str]]:
    """Numbered lines as text without their endings (LF or CRLF); a line that is not in the encoding is a problem."""
    for number, line in enumerate(byte_lines(path, reading), 1):
        text = decoded(path, number, line, reading)
        if text is not None:
            reading.place.line = number
            yield number, text.rstrip("\r\n")


def decoded(path: Path, number: int, line: bytes, reading: Reading) -> str | None:
    """A line as text, or None after a problem was noted."""
    try:
        return line.decode(reading.encoding)
    except UnicodeDecodeError as error:
        found = Phrase(
            f"byte 0x{line[error.start]:02x} at column {error.start + 1}; for another encoding use --encoding"
        )
        reading.problems.add(FormatError(path, number, expected=f"{reading.encoding.upper()} text", found=found))
        return None


def whole_text(path: Path, reading: Reading) -> str:
    """A whole file as text; for formats that are not made of lines."""
    return "".join(
        text
        for number, line in enumerate(byte_lines(path, reading), 1)
        if (text := decoded(path, number, line, reading)) is not None
    )


def head(path: Path, size: int = 65_536) -> str:
    """The first characters of a file, for telling its format; bytes that are not UTF-8 are replaced."""
    with open_bytes(path, Reading()) as file:
        try:
            start = file.read(size)
        except CUT:
            return ""
    return start.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")


def _cut_short(path: Path, number: int, error: Exception) -> FormatError:
    found = Phrase(f"one that is cut short or damaged after this line ({error})")
    return FormatError(path, number, expected="a whole gzip file", found=found)


def _position(raw: BinaryIO) -> Callable[[], int]:
    """The position in a file, which is its end once it is closed."""
    last = 0

    def position() -> int:
        nonlocal last
        if not raw.closed:
            last = raw.tell()
        return last

    return position
