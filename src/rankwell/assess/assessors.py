"""The assessors one by one: how much they did, how long it took, and whether they see it as the others do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from rankwell.assess.grades import GivenGrade, Grades
from rankwell.assess.majority import vote


class Quartiles(NamedTuple):
    """The value below which a quarter lies, the middle one, and the one above which a quarter lies."""

    low: float
    median: float
    high: float


class Accord(NamedTuple):
    """On how many passages the others had a majority, and on what share of them somebody sided with it."""

    compared: int
    share: float | None  # None where there was nothing to compare


@dataclass(frozen=True)
class Assessor:
    """What one person did. `lean` is how much higher than the others' mean this person grades, on average."""

    id: str
    english: int | None
    queries: int
    graded: int
    cannot_tell: int
    accord: Mapping[str, Accord]  # by the name of the threshold
    lean: float | None
    seconds: Quartiles | None


def assessors(grades: Grades, thresholds: Mapping[str, int]) -> list[Assessor]:
    """Everybody, who did most first.

    The majority is that of the others: a vote that helped to make the majority would agree with itself. Passages on
    which the others tie, or which nobody else graded, are left out.
    """
    by_passage: dict[tuple[str, str], dict[str, int]] = {}
    by_assessor: dict[str, list[GivenGrade]] = {}
    for row in grades.rows():
        by_assessor.setdefault(row.assessor, []).append(row)
        if row.grade is not None:
            by_passage.setdefault((row.qid, row.docno), {})[row.assessor] = row.grade
    found = [_assessor(name, rows, by_passage, thresholds) for name, rows in by_assessor.items()]
    return sorted(found, key=lambda assessor: (-assessor.graded, assessor.id))


def time_per_passage(grades: Grades) -> Quartiles | None:
    """Quartiles of the seconds that an answer took; None where nobody's time is known."""
    return _quartiles([seconds for seconds in grades.seconds if seconds is not None])


def _assessor(
    name: str,
    rows: Sequence[GivenGrade],
    by_passage: Mapping[tuple[str, str], Mapping[str, int]],
    thresholds: Mapping[str, int],
) -> Assessor:
    beside = [  # own grade, and the others'
        (row.grade, tuple(grade for other, grade in by_passage[row.qid, row.docno].items() if other != name))
        for row in rows
        if row.grade is not None
    ]
    shared = [(own, others) for own, others in beside if others]
    return Assessor(
        id=name,
        english=next((row.english for row in rows if row.english is not None), None),
        queries=len({row.qid for row in rows}),
        graded=len(beside),
        cannot_tell=len(rows) - len(beside),
        accord={called: _accord(shared, threshold) for called, threshold in thresholds.items()},
        lean=fmean(own - fmean(others) for own, others in shared) if shared else None,
        seconds=_quartiles([row.seconds for row in rows if row.seconds is not None]),
    )


def _accord(shared: Sequence[tuple[int, tuple[int, ...]]], threshold: int) -> Accord:
    sides = []
    for own, others in shared:
        for_it = vote(others, threshold)
        if for_it is not None:
            sides.append((own >= threshold) == for_it)
    return Accord(len(sides), sum(sides) / len(sides) if sides else None)


def _quartiles(values: Sequence[float]) -> Quartiles | None:
    return Quartiles(*np.quantile(values, [0.25, 0.5, 0.75]).tolist()) if values else None
