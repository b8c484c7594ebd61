"""TREC judgments: `qid iteration docno grade`, separated by white space."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rankwell.collections.lines import first_lines, output, text_lines
from rankwell.collections.reading import Reading
from rankwell.core import FormatError, Judgment, Judgments, RankwellError

COLUMNS = 4
WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
NUMBER = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]*)?")
EXPECTED = "4 columns (qid iteration docno grade), the grade a whole number"


class TrecQrels:
    """Four columns; the second is not used. Lines that start with # are comments."""

    name = "trec"
    suffixes = (".qrels", ".qrel", ".txt")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the first line that is not a comment has four columns and ends in a number.

        A number that is not whole is a mistake, which `read` names with its line.
        """
        parts = first_row(start)
        return path.is_file() and len(parts) == COLUMNS and NUMBER.fullmatch(parts[3]) is not None

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """Read the judgments."""
        for number, line in text_lines(path, reading):
            parts = columns(line)
            if not parts or parts[0].startswith("#"):
                continue
            if len(parts) != COLUMNS or not is_whole(parts[3]):
                reading.problems.add(FormatError(path, number, expected=EXPECTED, found=line))
                continue
            yield Judgment(parts[0], parts[2], int(parts[3]))

    def write(self, path: Path, judgments: Judgments) -> None:
        """Write one line for each judgment, with 0 as the iteration."""
        with output(path) as file:
            for qid, docno, grade in judgments.rows():
                file.write(f"{spaceless(qid, path, first=True)} 0 {spaceless(docno, path)} {grade}\n".encode())


def first_row(start: str) -> list[str]:
    """The columns of the first line that is neither empty nor a comment."""
    rows = (columns(line) for line in first_lines(start, 1000))
    return next((row for row in rows if row and not row[0].startswith("#")), [])


def columns(line: str) -> list[str]:
    """The parts between ASCII white space, as in trec_eval: an id may hold another kind of space."""
    return line.split() if line.isascii() else [part.decode() for part in line.encode().split()]


def spaceless(name: str, path: Path, *, first: bool = False) -> str:
    """The id; an error where it has white space (or would make its line a comment)."""
    if not name or min(name) <= " " or (first and name.startswith(("#", "\ufeff"))):
        raise RankwellError(f"{path}: expected ids without white space and not starting with #, found {name!r}")
    return name


def is_whole(text: str) -> bool:
    """Whether it is a whole number of a sensible size."""
    return WHOLE.fullmatch(text) is not None
