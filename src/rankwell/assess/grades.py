"""The answers of a study as plain columns: what labels, agreement and pictures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

from rankwell.core import ParameterError


class GivenGrade(NamedTuple):
    """One answer of one assessor: `grade` is None for "I can't tell", `seconds` and `english` where not known."""

    qid: str
    docno: str
    assessor: str
    grade: int | None
    seconds: float | None = None
    english: int | None = None


@dataclass(frozen=True)
class Grades:
    """Parallel columns with one place for each answer; an assessor answers at most once for a query and a passage.

    A passage that one assessor of a query left out has no place here: that and "I can't tell" (grade None) are both
    missing answers. Assessors go by random ids; nothing in here tells who they are.
    """

    qids: tuple[str, ...] = ()
    docnos: tuple[str, ...] = ()
    assessors: tuple[str, ...] = ()
    grades: tuple[int | None, ...] = ()
    seconds: tuple[float | None, ...] = ()
    english: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ParameterError("grades", expected="columns of one length", found=lengths)
        answered: set[tuple[str, str, str]] = set()
        for answer in zip(self.qids, self.docnos, self.assessors, strict=True):
            if answer in answered:
                raise ParameterError("grades", expected="one answer a query, passage and assessor", found=answer)
            answered.add(answer)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, int | None] | GivenGrade]) -> Grades:
        """From rows: query, passage, assessor, grade and, where known, seconds and English level."""
        full = [GivenGrade(*row) for row in rows]
        return cls(*(tuple(column) for column in zip(*full, strict=True))) if full else cls()

    def __len__(self) -> int:
        return len(self.qids)

    def rows(self) -> Iterator[GivenGrade]:
        """The answers, one at a time."""
        columns = (self.qids, self.docnos, self.assessors, self.grades, self.seconds, self.english)
        return (GivenGrade(*row) for row in zip(*columns, strict=True))

    def only(self, *, english: int | None = None) -> Grades:
        """Without the assessors who put their English below a level; who told none stays."""
        if english is None:
            return self
        return Grades.of(row for row in self.rows() if row.english is None or row.english >= english)
