from __future__ import annotations

import pytest

from rankwell.judging.agreement import Accord, Quartiles, assessors, time_per_passage
from rankwell.judging.grades import Grades

THRESHOLDS = {"strict": 3}


def test_an_assessor_is_compared_with_the_majority_of_the_others() -> None:
    table = {"a": (5, 5, 5, 1), "b": (5, 1, 4, 1), "c": (4, 1, 1, 1)}
    grades = Grades.of(
        ("q", f"d{place}", who, grade) for who, given in table.items() for place, grade in enumerate(given)
    )
    found = {assessor.id: assessor for assessor in assessors(grades, THRESHOLDS)}
    # d2: the others of a tie (4 and 1); of b tie (5 and 1); of c agree that it is relevant.
    assert found["a"].accord == {"strict": Accord(3, pytest.approx(2 / 3))}
    assert found["b"].accord == {"strict": Accord(2, 1.0)}  # on d1 the others tie too
    assert found["c"].accord == {"strict": Accord(3, pytest.approx(2 / 3))}
    assert found["a"].lean == pytest.approx((0.5 + 4 + 2.5 + 0) / 4)


def test_what_each_did_and_how_long_it_took() -> None:
    rows = [("q1", f"d{n}", "slow", 3, float(n), 8) for n in range(1, 6)]
    grades = Grades.of([*rows, ("q2", "d1", "slow", None, None, 8), ("q1", "d1", "quick", 2, 0.5, None)])
    slow, quick = assessors(grades, THRESHOLDS)
    assert (slow.id, slow.queries, slow.graded, slow.cannot_tell, slow.english) == ("slow", 2, 5, 1, 8)
    assert slow.seconds == Quartiles(2.0, 3.0, 4.0)
    assert (quick.english, quick.seconds) == (None, Quartiles(0.5, 0.5, 0.5))
    assert time_per_passage(grades) == Quartiles(1.25, 2.5, 3.75)
    assert time_per_passage(Grades.of([("q", "d", "a", 1)])) is None


def test_who_was_alone_is_compared_with_nobody() -> None:
    (alone,) = assessors(Grades.of([("q", "d", "a", 4)]), THRESHOLDS)
    assert alone.accord == {"strict": Accord(0, None)}
    assert alone.lean is None
