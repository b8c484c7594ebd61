"""Judgments: the grades of documents for queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rankwell.core.errors import RankwellError
from rankwell.core.frames import column, frame

if TYPE_CHECKING:
    import pandas as pd


class Judgment(NamedTuple):
    """One judgment: grades from 1 are relevant, others are not; an unjudged document is a third case."""

    qid: str
    docno: str
    grade: int


class Judgments(Mapping[str, Mapping[str, int]]):
    """Grades by query id and document id (the field's "qrels"). Immutable."""

    __slots__ = ("_grades",)

    def __init__(self, judgments: Iterable[tuple[str, str, int]] = ()) -> None:
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in judgments:
            of_query = grades.setdefault(qid, {})
            if of_query.setdefault(docno, grade) != grade:
                raise RankwellError(
                    f"judgments: expected one grade for document {docno!r} and query {qid!r}, "
                    f"found {of_query[docno]} and {grade}"
                )
        self._grades = {qid: MappingProxyType(of_query) for qid, of_query in grades.items()}

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[str, int]]) -> Judgments:
        """Create from `{qid: {docno: grade}}`, as in pytrec_eval, BEIR and ranx."""
        return cls((qid, docno, grade) for qid, of_query in grades.items() for docno, grade in of_query.items())

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> Judgments:
        """Create from a data frame with the columns qid, docno, grade (or query_id, doc_id, relevance / label)."""
        qids, docnos, grades = (column(table, name) for name in ("qid", "docno", "grade"))
        whole = [_whole(grade) for grade in grades.tolist()]
        return cls(zip(qids.astype(str), docnos.astype(str), whole, strict=True))

    def __getitem__(self, qid: str) -> Mapping[str, int]:
        return self._grades[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._grades)

    def __len__(self) -> int:
        return len(self._grades)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: as a plain dictionary."""
        return Judgments.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"Judgments({self.count} judgments of {len(self)} queries)"

    @property
    def count(self) -> int:
        """Number of judgments over all queries."""
        return sum(len(of_query) for of_query in self._grades.values())

    def rows(self) -> Iterator[Judgment]:
        """All judgments, query by query, in the order of reading."""
        for qid, of_query in self._grades.items():
            for docno, grade in of_query.items():
                yield Judgment(qid, docno, grade)

    def relevant(self, qid: str, rel: int = 1) -> tuple[str, ...]:
        """The documents with at least this grade for the query (none for a query without judgments)."""
        return tuple(docno for docno, grade in self._grades.get(qid, {}).items() if grade >= rel)

    def only(self, qids: Iterable[str]) -> Judgments:
        """The judgments of these queries."""
        wanted = set(qids)
        return Judgments(row for row in self.rows() if row.qid in wanted)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """The judgments as `{qid: {docno: grade}}`."""
        return {qid: dict(of_query) for qid, of_query in self._grades.items()}

    def to_frame(self) -> pd.DataFrame:
        """A data frame with the columns qid, docno, grade."""
        columns: dict[str, list[Any]] = {"qid": [], "docno": [], "grade": []}
        for row in self.rows():
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
        return frame(columns)


def _whole(grade: Any) -> int:
    """A grade of a data frame as an integer: pandas makes it a float where a column has gaps."""
    try:
        if int(grade) == float(grade):
            return int(grade)
    except (OverflowError, TypeError, ValueError):
        pass
    raise RankwellError(f"data frame: expected whole numbers as grades, found {grade!r}")
