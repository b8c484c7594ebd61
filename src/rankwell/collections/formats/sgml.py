"""Records of TREC's SGML: what stands between an opening tag and its closing one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rankwell.collections.lines import text_lines
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase


def sgml_records(path: Path, tag: str, reading: Reading) -> Iterator[tuple[int, str]]:
    """What each `<tag>` holds, with the line where it starts; one that is not closed is a problem."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    marks = re.compile(f"({opening}|{closing})", re.IGNORECASE)
    started, parts = 0, list[str]()
    for number, line in text_lines(path, reading):
        for part in marks.split(line) if "<" in line else [line]:
            mark = part.lower()
            if mark == opening.lower():
                if started:
                    reading.problems.add(_unclosed(path, started, f"a {closing} before the next {opening}", "none"))
                started, parts = number, []
            elif mark == closing.lower():
                if started:
                    yield started, "".join(parts)
                started = 0
            else:
                parts.append(part)
        parts.append("\n")
    if started:
        reading.problems.add(_unclosed(path, started, f"a {closing} for this {opening}", "the end of the file"))


def _unclosed(path: Path, line: int, expected: str, found: str) -> FormatError:
    return FormatError(path, line, expected=expected, found=Phrase(found))
