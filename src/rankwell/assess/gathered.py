"""Grades from wherever they lie: an exported table, or the database of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rankwell.assess.grades import Grades
from rankwell.assess.grades_file import read_grades
from rankwell.collections.reading import Reading
from rankwell.core import Judgments

SQLITE = b"SQLite format 3\x00"  # how its files begin
ADDRESS = "://"


@dataclass(frozen=True)
class Gathered:
    """Grades, and what is known of the study they were given in.

    A table holds grades only: its scale ends with the highest grade that was given, and begins at 0 where that was
    given, else at 1. `original` are the judgments there were before, `texts` what the queries ask.
    """

    grades: Grades
    lowest: int
    highest: int
    assessors: int = 3
    original: Judgments | None = None
    texts: Mapping[str, str] = field(default_factory=dict)


def gather(source: Path | str, *, reading: Reading | None = None) -> Gathered:
    """Read a table of grades (TSV, CSV or JSON), or a database: its file, or an address such as postgresql://..."""
    if ADDRESS in str(source) or _is_sqlite(Path(source)):
        return _from_database(str(source))
    grades = read_grades(source, reading=reading)
    given = {grade for grade in grades.grades if grade is not None}
    return Gathered(grades, lowest=0 if 0 in given else 1, highest=max(given, default=1))


def _is_sqlite(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _from_database(where: str) -> Gathered:
    from rankwell.assess.opening import open_study

    with open_study(where) as store:
        scale, original = store.study.grades, store.originals()
        wanted, texts = store.study.assessors_per_query, store.query_texts()
        return Gathered(store.grades(), scale[0], scale[-1], wanted, original or None, texts)
