"""Grades as columns, read from an exported table or from a study's database."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.formats.trec import is_whole
from rankwell.collections.reading import Reading, head
from rankwell.core import FormatError, Judgments, ParameterError, Phrase


class GivenGrade(NamedTuple):
    """One answer of one assessor: `grade` is None for "I can't tell", `seconds` and `english` where not known.

    `adjudicated` is the grade that an adjudicator decided on for the passage, the same in all of its answers.
    """

    qid: str
    docno: str
    assessor: str
    grade: int | None
    seconds: float | None = None
    english: int | None = None
    adjudicated: int | None = None


@dataclass(frozen=True)
class Grades:
    """Parallel columns with one entry for each answer; an assessor answers at most once for a query and a passage.

    A passage that an assessor of the query skipped has no entry: that and "I can't tell" (grade None) are both
    missing answers. Assessors have random ids and stay anonymous.
    """

    qids: tuple[str, ...] = ()
    docnos: tuple[str, ...] = ()
    assessors: tuple[str, ...] = ()
    grades: tuple[int | None, ...] = ()
    seconds: tuple[float | None, ...] = ()
    english: tuple[int | None, ...] = ()
    adjudicated: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.adjudicated:
            object.__setattr__(self, "adjudicated", (None,) * len(self.qids))
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ParameterError("grades", expected="columns of one length", found=lengths)
        answers = Counter(zip(self.qids, self.docnos, self.assessors, strict=True))
        if answers and answers.total() > len(answers):
            twice = answers.most_common(1)[0][0]
            raise ParameterError("grades", expected="one answer a query, passage and assessor", found=twice)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, int | None] | GivenGrade]) -> Grades:
        """From rows: query, passage, assessor, grade and, where known, seconds and English level."""
        full = [GivenGrade(*row) for row in rows]
        return cls(*(tuple(column) for column in zip(*full, strict=True))) if full else cls()

    def __len__(self) -> int:
        return len(self.qids)

    def rows(self) -> Iterator[GivenGrade]:
        """The answers, one at a time."""
        columns = (self.seconds, self.english, self.adjudicated)
        return map(GivenGrade, self.qids, self.docnos, self.assessors, self.grades, *columns)

    def only(self, *, english: int | None = None) -> Grades:
        """Without the assessors whose level of English is below `english`; unknown levels stay."""
        if english is None:
            return self
        return Grades.of(row for row in self.rows() if row.english is None or row.english >= english)


def _id(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def _whole(text: str) -> int | None:
    if text and not is_whole(text):
        raise ValueError(text)
    return int(text) if text else None


def _seconds(text: str) -> float | None:
    seconds = float(text) if text else None
    if seconds is not None and not 0 <= seconds < math.inf:
        raise ValueError(text)
    return seconds


class GradeColumn(NamedTuple):
    """A column of a table of grades: the names that are read for it, what it must hold, and how it is read."""

    names: tuple[str, ...]
    expected: str
    read: Callable[[str], str | float | None]  # raises ValueError


COLUMNS = {
    "qid": GradeColumn(("qid", "query_id", "query-id", "query", "topic"), "a query's id", _id),
    "docno": GradeColumn(("docno", "doc_id", "corpus-id", "document", "passage", "pid"), "a passage's id", _id),
    "assessor": GradeColumn(("assessor", "annotator", "judge", "rater", "worker"), "an assessor's id", _id),
    "grade": GradeColumn(("grade", "label", "relevance", "rating"), "a whole number or nothing", _whole),
    "seconds": GradeColumn(("seconds",), "a number of seconds or nothing", _seconds),
    "english": GradeColumn(("english",), "a whole number or nothing", _whole),
    "adjudicated": GradeColumn(("adjudicated",), "a whole number or nothing", _whole),
}
NEEDED = ("qid", "docno", "assessor", "grade")
OBJECTS = "a list of objects with qid, docno, assessor and grade"


def read_grades(path: Path | str, *, reading: Reading | None = None) -> Grades:
    """The grades of a TSV or CSV table whose first line names the columns, or of a JSON list of objects with them.

    It needs a query, a passage, an assessor and a grade, which is empty (null) for "I can't tell"; seconds, the English
    level and the adjudicated grade of the passage are optional, and other columns are ignored.
    """
    path, reading = Path(path), reading or Reading()
    start = head(path)
    if start.lstrip().startswith(("[", "{")):
        return Grades.of(_once(path, _objects(path, reading), reading))
    delimiter = max("\t,;", key=lambda mark: len(header(start, mark)))
    places = _places(path, header(start, delimiter))
    return Grades.of(_once(path, _rows(path, reading, delimiter, places), reading))


def write_grades(path: Path | str, grades: Grades) -> None:
    """Write a TSV table with a header (CSV where the name ends in .csv)."""
    path = Path(path)
    delimiter = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    rows = (["" if cell is None else cell for cell in row] for row in grades.rows())
    write_table(path, list(COLUMNS), rows, delimiter)


def _places(path: Path, names: list[str], number: int = 1) -> dict[str, str]:
    """The file's name of each of our columns."""
    by_lower = {name.lower(): name for name in reversed(names)}
    known = {column: next((name for name in of.names if name in by_lower), None) for column, of in COLUMNS.items()}
    places = {column: by_lower[name] for column, name in known.items() if name is not None}
    if any(column not in places for column in NEEDED):
        expected = f"a table with the columns {', '.join(NEEDED)} (and perhaps seconds, english, adjudicated)"
        raise FormatError(path, number, expected=expected, found=Phrase(", ".join(names) or "nothing"))
    return places


def _rows(path: Path, reading: Reading, delimiter: str, places: Mapping[str, str]) -> Iterator[tuple[int, GivenGrade]]:
    for number, cells in table_rows(path, reading, delimiter):
        texts = {column: cells[name].strip() for column, name in places.items()}
        yield from _checked(path, reading, number, texts)


def _objects(path: Path, reading: Reading) -> Iterator[tuple[int, GivenGrade]]:
    """The objects of a JSON file, numbered from 1."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise FormatError(path, 1, expected=OBJECTS, found=Phrase(f"no JSON: {error}")) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FormatError(path, 1, expected=OBJECTS, found=Phrase("another kind of JSON"))
    for number, row in enumerate(rows, 1):
        values = {column: row[name] for column, name in _places(path, list(row), number).items()}
        texts = {column: "" if value is None else str(value).strip() for column, value in values.items()}
        yield from _checked(path, reading, number, texts)


def _checked(path: Path, reading: Reading, number: int, texts: Mapping[str, str]) -> Iterator[tuple[int, GivenGrade]]:
    """The checked row; a wrong one is reported as a problem."""
    values: list[Any] = []
    for name, column in COLUMNS.items():
        text = texts.get(name, "")
        try:
            values.append(column.read(text))
        except ValueError:
            reading.report(path, number, f"{column.expected} as {name}", text)
            return
    yield number, GivenGrade(*values)


def _once(path: Path, rows: Iterator[tuple[int, GivenGrade]], reading: Reading) -> Iterator[GivenGrade]:
    """The rows without repeated answers of an assessor on a passage, which are reported as problems."""
    seen: dict[tuple[str, str, str], int] = {}
    for number, row in rows:
        first = seen.setdefault((row.qid, row.docno, row.assessor), number)
        if first == number:
            yield row
        else:
            expected = "one answer of an assessor on a query's passage"
            reading.report(path, number, expected, Phrase(f"another, after that in line {first}"))


SQLITE = "SQLite format 3\x00"  # how its files begin


@dataclass(frozen=True)
class Gathered:
    """Grades, and the scale, judgments and query texts of their study as far as known.

    Of a table the scale ends with the highest grade that was given, and begins at 0 where that was
    given, else at 1. `original` are the earlier judgments, `texts` the queries' texts.
    """

    grades: Grades
    lowest: int
    highest: int
    assessors: int = 3
    original: Judgments | None = None
    texts: Mapping[str, str] = field(default_factory=dict)


def gather(source: Path | str, *, reading: Reading | None = None) -> Gathered:
    """Read a table of grades (TSV, CSV or JSON), or a database: its file, or an address such as postgresql://..."""
    if "://" in str(source) or head(Path(source)).startswith(SQLITE):
        from rankwell.judging.opening import open_study

        with open_study(source) as store:
            scale, original = store.study.grades, store.originals()
            wanted, texts = store.study.assessors_per_query, store.query_texts()
            return Gathered(store.grades(), scale[0], scale[-1], wanted, original or None, texts)
    grades = read_grades(source, reading=reading)
    given = {grade for grade in (*grades.grades, *grades.adjudicated) if grade is not None}
    return Gathered(grades, lowest=0 if 0 in given else 1, highest=max(given, default=1))
