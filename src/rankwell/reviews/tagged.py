"""Files of tagged lines, as bibliographies are exchanged: a tag, a dash, a value; several lines may make one value."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rankwell.core import FormatError, RankwellError
from rankwell.core.errors import Phrase

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass
class Tagged:
    """One record: its values with their tags in the order of the file, and the line in which it starts."""

    line: int
    values: list[tuple[str, str]] = field(default_factory=list)

    def all(self, *tags: str) -> list[str]:
        """The values of the first of these tags that has any."""
        for tag in tags:
            found = [value for own, value in self.values if own == tag and value]
            if found:
                return found
        return []

    def first(self, *tags: str) -> str:
        """The first value of the first of these tags that has any, or an empty text."""
        return next(iter(self.all(*tags)), "")

    def continued(self, line: str) -> None:
        """A line that goes on with the last value."""
        tag, value = self.values[-1]
        self.values[-1] = tag, f"{value} {line.strip()}".strip()


def tagged_values(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Lines as (number, tag, value); a line without a tag has an empty one."""
    for number, line in enumerate(text.splitlines(), 1):
        found = pattern.match(line)
        yield (number, found[1], found[2].strip()) if found else (number, "", line)


def bibliography_text(path: Path, encoding: str | None = None) -> str:
    """A file's text: in the encoding its mark or the user tells, else UTF-8, else what Windows programs wrote."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            found = Phrase(f"one that is cut short or damaged ({error})")
            raise FormatError(path, None, expected="a whole gzip file", found=found) from error
    marked = next((name for mark, name in MARKS.items() if content.startswith(mark)), None)
    try:
        if marked or encoding:
            return content.decode(marked or encoding or "utf-8")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return content.decode("cp1252", errors="replace")
    except (UnicodeDecodeError, LookupError) as error:
        expected = f"text in {marked or encoding}"
        raise FormatError(path, None, expected=expected, found=Phrase(str(error))) from error


def one_line(text: str) -> str:
    """A value as a file of lines can hold it."""
    return " ".join(text.split())


def lines_of(pairs: Iterable[tuple[str, str]], line: str) -> str:
    """Tags and values as lines of a file; values without text are left out."""
    return "".join(line.format(tag, one_line(value)) + "\n" for tag, value in pairs if value.strip())


def checked_text(path: Path, encoding: str | None, looks_right: Callable[[str], bool], expected: str) -> str:
    """A file's text, refused where it has none of the records it should have; an empty file has no records."""
    text = bibliography_text(path, encoding)
    if text.strip() and not looks_right(text):
        first = next(line for line in text.splitlines() if line.strip())
        raise FormatError(path, 1, expected=expected, found=first)
    return text
