"""Zip archives from outside (xlsx, docx, pptx, odt, EPUB): nothing is unpacked before its true size is known.

The sizes that an archive declares may be lies, so every part that is read is counted while it is inflated.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self
from xml.etree.ElementTree import Element

from rankwell.collections.safe_xml import elements
from rankwell.core import FormatError, Phrase, RankwellError

MOST_UNPACKED = 400_000_000  # bytes of all parts together
HARMLESS = 20_000_000  # bytes; a smaller archive may be packed as tightly as it likes
MOST_RATIO = 200
MOST_PARTS = 20_000
BLOCK = 1 << 16
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
LOCAL = struct.Struct("<4s5H3L2H")  # the header before each part
ENCRYPTED = 1  # a flag of a part
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, NotImplementedError, ValueError)


class Archive:
    """An open zip archive. A bomb, a damaged or an encrypted one raises a FormatError.

    `what` names the archive in errors, such as "a Word file".
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            with zipfile.ZipFile(self._file) as archive:
                self.parts = {part.filename: part for part in archive.infolist()}
        except (*DAMAGED, RuntimeError) as error:
            self._file.close()
            raise self.problem(f"one that is damaged ({error})") from error
        try:
            self._check()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def problem(self, found: str) -> FormatError:
        """The error of this archive."""
        return FormatError(self.path, None, expected=self.what, found=Phrase(found))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a part, piece by piece, up to the size that it declares; more of it is an error."""
        part = self.parts.get(name)
        if part is None:
            raise self.problem(f"one without {name}")
        left = part.file_size
        try:
            for chunk in self._inflated(part):
                left -= len(chunk)
                if left < 0:
                    raise self.problem(f"a part {name} that is larger than it declares")
                yield chunk
        except DAMAGED as error:
            if isinstance(error, FormatError):
                raise
            raise self.problem(f"a damaged part {name} ({error})") from error

    def read(self, name: str, most: int = 10_000_000) -> bytes:
        """The content of a small part."""
        parts, size = list[bytes](), 0
        for chunk in self.chunks(name):
            size += len(chunk)
            if size > most:
                raise self.problem(f"a part {name} of more than {most:,} bytes")
            parts.append(chunk)
        return b"".join(parts)

    def elements(self, name: str, *names: str) -> Iterator[Element]:
        """The outermost elements of these names in a part, which is XML."""
        for _, element in elements(self.chunks(name), names, f"{self.path} ({name})", "XML"):
            yield element

    def check_sizes(self) -> None:
        """Inflate every part once, for a library that would believe the archive."""
        for name in self.parts:
            for _ in self.chunks(name):
                pass

    def _check(self) -> None:
        if len(self.parts) > MOST_PARTS:
            raise self.problem(f"{len(self.parts):,} parts in it")
        if any(part.flag_bits & ENCRYPTED for part in self.parts.values()):
            raise self.problem("one that is protected by a password")
        unpacked = sum(part.file_size for part in self.parts.values())
        packed = max(1, self.path.stat().st_size)
        if unpacked > MOST_UNPACKED or (unpacked > HARMLESS and unpacked > MOST_RATIO * packed):
            raise self.problem(
                f"{packed:,} bytes that unpack to {unpacked:,}: more than {MOST_RATIO} times as many, "
                f"or more than {MOST_UNPACKED:,}"
            )

    def _inflated(self, part: zipfile.ZipInfo) -> Iterator[bytes]:
        self._file.seek(part.header_offset)
        header = LOCAL.unpack(self._file.read(LOCAL.size))
        place, left = part.header_offset + LOCAL.size + header[-2] + header[-1], part.compress_size
        if part.compress_type not in (STORED, DEFLATED):
            raise self.problem(f"a part {part.filename} that is packed in an unusual way")
        unpack = zlib.decompressobj(-15) if part.compress_type == DEFLATED else None
        while left > 0:
            self._file.seek(place)
            data = self._file.read(min(BLOCK, left))
            if not data:
                raise self.problem(f"one that is cut short in {part.filename}")
            left, place = left - len(data), place + len(data)
            if unpack is None:
                yield data
                continue
            while data:
                yield unpack.decompress(data, 16 * BLOCK)
                data = unpack.unconsumed_tail


def is_zip(start: str) -> bool:
    """Whether a file starts as a zip archive."""
    return start.startswith("PK\x03\x04")


def part_names(path: Path) -> frozenset[str]:
    """The names of an archive's parts; none where it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist()[:MOST_PARTS])
    except (*DAMAGED, RuntimeError):
        return frozenset()
