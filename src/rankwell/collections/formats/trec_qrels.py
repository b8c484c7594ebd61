"""TREC judgments: `qid iteration docno grade`, separated by white space."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankwell.collections.lines import text_lines
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.judgments import Judgment, Judgments

COLUMNS = 4
EXPECTED = "4 columns (qid iteration docno grade), the grade a whole number"


class TrecQrels:
    """Four columns; the second is not used. Lines that start with # are comments."""

    name = "trec"
    suffixes = (".qrels", ".qrel", ".txt")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the first line that is not a comment has four columns and ends in a whole number."""
        parts = first_row(start)
        return path.is_file() and len(parts) == COLUMNS and _is_whole(parts[3])

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """The judgments."""
        for number, line in text_lines(path, reading):
            parts = line.split()
            if not parts or parts[0].startswith("#"):
                continue
            if len(parts) != COLUMNS or not _is_whole(parts[3]):
                reading.problems.add(FormatError(path, number, expected=EXPECTED, found=line))
                continue
            yield Judgment(parts[0], parts[2], int(parts[3]))

    def write(self, path: Path, judgments: Judgments) -> None:
        """One line a judgment, with 0 as the iteration."""
        with atomic_write(path) as file:
            for qid, docno, grade in judgments.rows():
                file.write(f"{spaceless(qid, path)} 0 {spaceless(docno, path)} {grade}\n".encode())


def first_row(start: str) -> list[str]:
    """The columns of the first line that is neither empty nor a comment."""
    return next((line.split() for line in start.splitlines() if line.strip() and not line.startswith("#")), [])


def spaceless(name: str, path: Path) -> str:
    """An id that can stand in a column."""
    if not name or name.split() != [name] or name.startswith("#"):
        raise RankwellError(f"{path}: expected ids without white space and not starting with #, found {name!r}")
    return name


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdecimal()
