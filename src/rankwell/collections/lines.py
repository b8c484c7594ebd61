"""Read and write lines of plain or gzipped text files, with byte order marks and encodings."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from rankwell.collections.reading import Reading
from rankwell.core import FormatError, Phrase, RankwellError, atomic_write, shown

GZIP = b"\x1f\x8b"
CUT = (EOFError, zlib.error, gzip.BadGzipFile)
OTHER_ENCODINGS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
HEAD = 65_536  # bytes that are enough to tell a format


def open_bytes(path: Path, reading: Reading) -> io.BufferedReader:
    """The bytes of a file, unpacked if it is gzipped (told by its first bytes, not by its name)."""
    try:
        raw = path.open("rb")
        start = raw.read(2)
        raw.seek(0)
        size = path.stat().st_size
    except io.UnsupportedOperation as error:
        raise RankwellError(f"{path}: cannot be read twice, as a pipe: write it to a file first") from error
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    if start in OTHER_ENCODINGS:
        raw.close()
        found = Phrase(f"{OTHER_ENCODINGS[start]}: convert it to UTF-8 first")
        raise FormatError(path, 1, expected="UTF-8 text", found=found)
    reading.progress.watch(_position(raw), size)
    return io.BufferedReader(_Unpacked(raw), 1 << 17) if start == GZIP else raw


def byte_lines(path: Path, reading: Reading) -> Iterator[bytes]:
    """Lines as bytes with their endings; a byte order mark at the start is dropped, a cut gzip file is a problem."""
    with open_bytes(path, reading) as file:
        if not isinstance(file.raw, _Unpacked):
            yield file.readline().removeprefix(codecs.BOM_UTF8)
            yield from file  # directly, for speed: whole collections are read here
            return
        number = 0
        try:
            for number, line in enumerate(file, 1):
                yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        except CUT as error:
            reading.problems.add(_cut_short(path, number + 1, error))


def byte_blocks(path: Path, reading: Reading, size: int) -> Iterator[tuple[int, bytes]]:
    """About `size` bytes at a time, always whole lines that end in a line feed, with the number of the first line."""
    number, waiting = 1, list[bytes]()  # pieces of an incomplete line, which may be a whole book
    with open_bytes(path, reading) as file:
        while True:
            block, wrong = _filled(file, size)
            lines, feed, rest = block.rpartition(b"\n")
            if feed:
                whole = _from_start(number, [*waiting, lines, feed])
                yield number, whole
                number, waiting = number + whole.count(b"\n"), []
            waiting.append(rest)
            if wrong is not None:  # the line in which it is cut is lost
                reading.problems.add(_cut_short(path, number, wrong))
                return
            if len(block) < size:
                break
    if last := _from_start(number, waiting):
        yield number, last + b"\n"


def _from_start(number: int, pieces: list[bytes]) -> bytes:
    """The pieces joined, without the byte order mark at the start of the file."""
    return b"".join(pieces).removeprefix(codecs.BOM_UTF8 if number == 1 else b"")


def text_lines(path: Path, reading: Reading) -> Iterator[tuple[int, str]]:
    """Numbered lines as text without their endings (LF or CRLF); a line that is not in the encoding is a problem."""
    for number, line in enumerate(byte_lines(path, reading), 1):
        text = decoded(path, number, line, reading)
        if text is not None:
            reading.place.line = number
            yield number, text.rstrip("\r\n")


def decoded(path: Path, number: int, line: bytes, reading: Reading) -> str | None:
    """A line as text, or None after a problem."""
    try:
        return line.decode(reading.encoding)
    except UnicodeDecodeError as error:
        reading.problems.add(not_in_encoding(path, number, error, reading))
        return None


def in_utf8(path: Path, first: int, block: bytes, reading: Reading) -> bytes:
    """Whole lines re-encoded in UTF-8; a line that is not in the encoding is a problem, and left empty."""
    if reading.is_utf8:
        return block
    try:
        return block.decode(reading.encoding).encode()
    except UnicodeDecodeError:
        lines = enumerate(block.splitlines(keepends=True), first)
        texts = (decoded(path, number, line, reading) for number, line in lines)
        return b"".join(b"\n" if text is None else text.encode() for text in texts)


def not_in_encoding(path: Path, number: int, error: UnicodeDecodeError, reading: Reading) -> FormatError:
    """The problem of a line whose bytes are not text."""
    found = f"byte 0x{error.object[error.start]:02x} at column {error.start + 1}; for another encoding use --encoding"
    return FormatError(path, number, expected=f"{reading.encoding.upper()} text", found=Phrase(found))


def whole_text(path: Path, reading: Reading) -> str:
    """A whole file as text, for formats that are not line-based."""
    return "".join(
        text
        for number, line in enumerate(byte_lines(path, reading), 1)
        if (text := decoded(path, number, line, reading)) is not None
    )


def head(path: Path) -> str:
    """The first characters of a file, to detect its format; bytes that are not UTF-8 are replaced."""
    with open_bytes(path, Reading()) as file:
        start, _ = _filled(file, HEAD)
    return start.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")


def first_lines(start: str, count: int) -> list[str]:
    """Up to `count` non-empty lines of a file's start; its last line, perhaps cut, only if there is no other."""
    lines = start.split("\n")
    whole = lines[:-1] if len(lines) > 1 and lines[-1] else lines
    return [line.rstrip("\r") for line in whole if line.strip()][:count]


class _Unpacked(io.RawIOBase):
    """The unpacked content of a gzip file, delivered piece by piece, so that nothing before a damage is lost."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self._packed = raw, gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._packed.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._raw.close()
        super().close()


def _filled(file: io.BufferedReader, size: int) -> tuple[bytes, Exception | None]:
    """`size` bytes (fewer at the end), and the error where a gzip file is damaged."""
    parts, missing = list[bytes](), size
    while missing:
        try:
            part = file.read1(missing)
        except CUT as error:
            return b"".join(parts), error
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts), None


def _cut_short(path: Path, number: int, error: Exception) -> FormatError:
    found = Phrase(f"one that is cut short or damaged in this line ({error})")
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


@contextlib.contextmanager
def output(path: Path) -> Iterator[BinaryIO]:
    """A new file for text in UTF-8; a name that ends in .gz compresses it (reproducibly)."""
    with atomic_write(path) as file:
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield cast("BinaryIO", packed)
            else:
                yield file
        except UnicodeEncodeError as error:
            found = shown(error.object[error.start : error.end])
            raise RankwellError(f"{path}: not written: {found} is half a character, which UTF-8 cannot hold") from error
