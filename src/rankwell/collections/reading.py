"""Read and write text files: encodings, gzip, byte order marks, treatment of bad records, progress."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from rankwell.collections import long_lines
from rankwell.collections.encodings import AUTO, UTF8, Recoded, file_encoding
from rankwell.collections.table_reading import TableReadings
from rankwell.core import SILENT, Document, Judgment, Progress, Query, atomic_write
from rankwell.core.errors import FormatError, ParameterError, Phrase, RankwellError, shown
from rankwell.core.records import AN_ID, is_id

KEPT = 1000


@dataclass
class Problems:
    """Raises at the first bad record, or with `skip` counts them all and keeps the first thousand to show.

    `listing`, an open file, gets a line for each of them.
    """

    skip: bool = False
    count: int = 0
    found: list[FormatError] = field(default_factory=list)
    listing: BinaryIO | None = None

    def add(self, problem: FormatError) -> None:
        """Raise the problem, or count it with `skip`."""
        if not self.skip:
            try:
                raise problem
            finally:
                del problem  # breaks the reference cycle with its frames and their open files
        self.count += 1
        if self.listing is not None:
            self.listing.write(f"{problem}\n".encode(errors="replace"))
        if len(self.found) < KEPT:
            self.found.append(problem)


@dataclass
class CurrentPlace:
    """Where the reader is: its line, for problems that are found later, such as a repeated id; the file's encoding.

    `by_content` tells that ids are made from the content: a repeated one is the same document again.
    """

    line: int | None = None
    encoding: str = UTF8
    by_content: bool = False
    repeated: int = 0


@dataclass(frozen=True)
class Reading:
    """Settings of all readers; by default any encoding, stop at the first bad record, no progress.

    The encoding "auto" is told from each file. `tables` has how each table was read. A reader of a folder asks `wanted`
    before each file whether to read it; the documents that follow are those of this file. `parts` asks for a document
    of each page, slide, chapter or section instead of one of each file. `threads` is for large runs (default: cores).
    """

    encoding: str = AUTO
    problems: Problems = field(default_factory=Problems)
    progress: Progress = SILENT
    place: CurrentPlace = field(default_factory=CurrentPlace)
    tables: TableReadings = field(default_factory=TableReadings)
    wanted: Callable[[Path], bool] = lambda _: True
    parts: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        try:
            known = self.encoding == AUTO or bool("\n,".encode(self.encoding))
        except LookupError:
            known = False
        if not known:
            expected = "an encoding such as utf-8, utf-16, latin-1 or cp1252, or auto"
            raise ParameterError("encoding", expected=expected, found=self.encoding)

    @property
    def codec(self) -> str:
        """The encoding of the bytes that `open_bytes` gives: UTF-8 where it was told from the file or has no ASCII."""
        return UTF8 if self.encoding == AUTO or "\n".encode(self.encoding) != b"\n" else self.encoding

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes that `open_bytes` gives are UTF-8."""
        return codecs.lookup(self.codec).name == UTF8

    def report(self, path: Path | str, line: int | None, expected: str, found: Any) -> None:
        """Report a bad record: it raises a FormatError, or is left out and counted."""
        self.problems.add(FormatError(path, line, expected=expected, found=found))

    @property
    def unseen(self) -> Reading:
        """The same settings for a second pass over a file: bad records are ignored without a report."""
        tables = TableReadings(kept=self.tables.kept, fields=self.tables.fields)
        return Reading(self.encoding, Problems(skip=True), tables=tables, parts=self.parts)

    @property
    def within(self) -> Reading:
        """The same settings and problems for one file of many, with a place of its own and no progress."""
        return replace(self, progress=SILENT, place=CurrentPlace())


GZIP = b"\x1f\x8b"
CUT = (EOFError, zlib.error, gzip.BadGzipFile)
HEAD = 65_536  # bytes that are enough to tell a format


def open_bytes(path: Path, reading: Reading) -> io.BufferedReader:
    """The bytes of a file, unpacked if it is gzipped (told by its first bytes, not by its name), as UTF-8.

    Only an encoding that the user named, and that has ASCII in it, is left as it is.
    """
    try:
        raw = path.open("rb")
        start = raw.read(2)
        raw.seek(0)
        size = path.stat().st_size
    except io.UnsupportedOperation as error:
        raise RankwellError(f"{path}: cannot be read twice, as a pipe: write it to a file first") from error
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    reading.progress.watch(position_of(raw), size)
    encoding = reading.encoding
    if encoding == AUTO:
        with contextlib.closing(_unpacked(path.open("rb"), start)) as again:
            encoding = file_encoding(path, again)
        reading.place.encoding = encoding
    file = _unpacked(raw, start)
    if codecs.lookup(encoding).name == UTF8 or reading.codec == encoding:
        return file
    return io.BufferedReader(Recoded(file, encoding), 1 << 17)


def _unpacked(raw: io.BufferedReader, start: bytes) -> io.BufferedReader:
    return io.BufferedReader(_Unpacked(raw), 1 << 17) if start == GZIP else raw


def byte_lines(path: Path, reading: Reading) -> Iterator[bytes]:
    """Lines as bytes with their endings; a byte order mark at the start is dropped, a cut gzip file is a problem."""
    with open_bytes(path, reading) as file:
        if long_lines.has_short_lines(file):
            yield file.readline().removeprefix(codecs.BOM_UTF8)
            yield from file  # directly, for speed
            return
        number, mark = 0, len(codecs.BOM_UTF8)
        try:
            if file.peek(mark)[:mark] == codecs.BOM_UTF8:
                file.read(mark)
            most = long_lines.LONGEST_LINE
            for line in iter(partial(file.readline, most), b""):
                number += 1
                if len(line) == most and line[-1:] != b"\n":
                    long_lines.skip_line(file)
                    found = Phrase("a longer one")
                    reading.report(path, number, f"a line of at most {most:,} bytes", found)
                    yield b"\n"  # so that the next lines keep their numbers
                else:
                    yield line
        except CUT as error:
            _report_damage(path, number + 1, error, reading)


def byte_blocks(path: Path, reading: Reading, size: int) -> Iterator[tuple[int, bytes]]:
    """About `size` bytes at a time, always whole lines that end in a line feed, with the number of the first line."""
    number, waiting = 1, list[bytes]()  # pieces of an incomplete line, which may be a whole book
    mark = codecs.BOM_UTF8  # at the start of the file only
    with open_bytes(path, reading) as file:
        while True:
            block, wrong = _filled(file, size)
            lines, feed, rest = block.rpartition(b"\n")
            if feed:
                whole = b"".join([*waiting, lines, feed]).removeprefix(mark)
                yield number, whole
                mark = b""
                number, waiting = number + whole.count(b"\n"), []
            waiting.append(rest)
            if wrong is not None:  # the line in which it is cut is lost
                _report_damage(path, number, wrong, reading)
                return
            if len(block) < size:
                break
    if last := b"".join(waiting).removeprefix(mark):
        yield number, last + b"\n"


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
        return line.decode(reading.codec)
    except UnicodeDecodeError as error:
        reading.problems.add(not_in_encoding(path, number, error, reading))
        return None


def in_utf8(path: Path, first: int, block: bytes, reading: Reading) -> bytes:
    """Whole lines re-encoded in UTF-8; a line that is not in the encoding is a problem, and left empty."""
    if reading.is_utf8:
        return block
    try:
        return block.decode(reading.codec).encode()
    except UnicodeDecodeError:
        lines = enumerate(block.splitlines(keepends=True), first)
        texts = (decoded(path, number, line, reading) for number, line in lines)
        return b"".join(b"\n" if text is None else text.encode() for text in texts)


def not_in_encoding(path: Path, number: int, error: UnicodeDecodeError, reading: Reading) -> FormatError:
    """The problem of a line whose bytes are not text."""
    found = f"byte 0x{error.object[error.start]:02x} at column {error.start + 1}; for another encoding use --encoding"
    return FormatError(path, number, expected=f"{reading.codec.upper()} text", found=Phrase(found))


def whole_text(path: Path, reading: Reading, longest: int | None = None) -> str:
    """A whole file as text, for formats that are not line-based; a FormatError where it is longer than allowed."""
    parts, size = list[str](), 0
    for number, line in enumerate(byte_lines(path, reading), 1):
        text = decoded(path, number, line, reading) or ""
        size += len(text)
        if longest is not None and size > longest:
            found = Phrase("more")
            raise FormatError(path, None, expected=f"a file of at most {longest:,} characters", found=found)
        parts.append(text)
    return "".join(parts)


def head(path: Path, reading: Reading | None = None) -> str:
    """The first characters of a file, to detect its format; bytes that are not in the encoding are replaced."""
    how = Reading() if reading is None else reading.unseen
    return head_bytes(path, how).removeprefix(codecs.BOM_UTF8).decode(how.codec, errors="replace")


def head_bytes(path: Path, reading: Reading) -> bytes:
    """The first bytes of a file, as far as they can be read."""
    with open_bytes(path, reading) as file:
        return _filled(file, HEAD)[0]


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


def _report_damage(path: Path, number: int, error: Exception, reading: Reading) -> None:
    found = Phrase(f"one that is cut short or damaged in this line ({error})")
    reading.report(path, number, "a whole gzip file", found)


def position_of(raw: BinaryIO | io.FileIO) -> Callable[[], int]:
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
            half = shown(error.object[error.start : error.end])
            raise RankwellError(f"{path}: not written: {half} is half a character, which UTF-8 cannot hold") from error


Identified = TypeVar("Identified", Document, Query)


def with_good_ids(items: Iterable[Identified], where: Path | str, reading: Reading) -> Iterator[Identified]:
    """Documents or queries; an id that cannot be one is a problem."""
    for item in items:
        if is_id(item.id):
            yield item
        else:
            reading.report(where, reading.place.line, f"an id: {AN_ID}", item.id)


def unique(documents: Iterable[Document], reading: Reading, where: Path | str) -> Iterator[Document]:
    """The documents; a repeated id is a problem, and its document is left out.

    Where ids are made from the content, a repeated one is no problem: the same row is there twice, and counted once.
    """
    seen: dict[str, int | None] = {}
    for document in documents:
        if document.id in seen and reading.place.by_content:
            reading.place.repeated += 1
        elif document.id in seen:
            before = seen[document.id]
            first = f" (first on line {before})" if before else ""
            again = Phrase(f"{shown(document.id)} again{first}")
            reading.report(where, reading.place.line, "an id that was not there before", again)
        else:
            seen[document.id] = reading.place.line
            yield document


def once(queries: Iterable[Query], where: Path | str, reading: Reading) -> Iterator[Query]:
    """The queries; a repeated id, or one that cannot be an id, is a problem."""
    seen = set[str]()
    for query in with_good_ids(queries, where, reading):
        if query.id in seen:
            reading.report(where, reading.place.line, "each query id once", Phrase(f"{shown(query.id)} again"))
        else:
            seen.add(query.id)
            yield query


def consistent(rows: Iterable[Judgment], where: Path | str, reading: Reading) -> Iterator[Judgment]:
    """The judgments; a different second grade for the same document is a problem."""
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        before = seen.setdefault((row.qid, row.docno), row.grade)
        if before == row.grade:
            yield row
        else:
            expected = f"grade {before} again for query {shown(row.qid)} and document {shown(row.docno)}"
            reading.report(where, reading.place.line, expected, Phrase(str(row.grade)))
