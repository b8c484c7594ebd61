"""What the assessors of a query said about each of its passages, and which answers are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rankwell.assess.grades import Grades
from rankwell.core import ParameterError


class Answers(NamedTuple):
    """What a panel said about one passage: the grades that were given, and how many of its assessors gave none."""

    grades: tuple[int, ...]
    missing: int = 0


@dataclass(frozen=True)
class Panel:
    """The assessors of one query and what they said, passage by passage."""

    assessors: tuple[str, ...]
    answers: Mapping[str, Answers]


def panels(grades: Grades, complete: float = 0.5) -> dict[str, Panel]:
    """The panel of every query, in the order in which the queries come.

    A query's passages are all those that anybody was asked about. Who graded less than the share `complete` of them
    is not on the panel, and what they said about the query does not count: S1 had seven assessors on a query, of whom
    one graded a single passage of twenty, and went on with the other six. Who graded nothing is never on a panel.
    """
    if not 0 <= complete <= 1:
        raise ParameterError("complete", expected="a share from 0 to 1", found=complete)
    given: dict[str, dict[str, dict[str, int]]] = {}  # by query and assessor
    passages: dict[str, dict[str, None]] = {}  # a dict keeps the order, a set would not
    for row in grades.rows():
        passages.setdefault(row.qid, {})[row.docno] = None
        of_assessor = given.setdefault(row.qid, {}).setdefault(row.assessor, {})
        if row.grade is not None:
            of_assessor[row.docno] = row.grade
    return {qid: _panel(of_query, list(passages[qid]), complete) for qid, of_query in given.items()}


def _panel(given: Mapping[str, Mapping[str, int]], docnos: list[str], complete: float) -> Panel:
    least = max(1.0, complete * len(docnos))
    there = {assessor: answered for assessor, answered in given.items() if len(answered) >= least}
    answers = {}
    for docno in docnos:
        found = tuple(answered[docno] for answered in there.values() if docno in answered)
        answers[docno] = Answers(found, len(there) - len(found))
    return Panel(tuple(there), answers)
