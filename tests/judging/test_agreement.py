"""Agreement equals that of statsmodels and of the krippendorff package."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from math import isnan
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as their_kappa

from rankwell.core import ParameterError
from rankwell.judging.agreement import (
    DISTANCES,
    alpha_interval,
    count_ratings,
    fleiss_kappa,
    krippendorff_alpha,
    measure_agreement,
)
from rankwell.judging.grades import Grades, read_grades

CLOSE = 1e-9
LEVELS = tuple(DISTANCES)
THRESHOLDS = {"liberal": 2, "strict": 3}

cell = st.one_of(st.none(), st.integers(0, 4))
tables = st.integers(1, 6).flatmap(
    lambda raters: st.lists(st.lists(cell, min_size=raters, max_size=raters), min_size=1, max_size=25)
)


def grades_of(table: list[list[int | None]], per_query: int = 3) -> Grades:
    """A row for each passage, a column for each assessor."""
    return Grades.of(
        (f"q{number // per_query}", f"d{number}", f"a{place}", grade)
        for number, row in enumerate(table)
        for place, grade in enumerate(row)
    )


def reliability(grades: Grades) -> np.ndarray:
    """The krippendorff package's table: a row for each assessor, a column for each passage, NaN where missing."""
    pairs = dict.fromkeys(zip(grades.qids, grades.docnos, strict=True))
    passages = {passage: place for place, passage in enumerate(pairs)}
    people = {assessor: place for place, assessor in enumerate(dict.fromkeys(grades.assessors))}
    table = np.full((len(people), len(passages)), np.nan)
    for row in grades.rows():
        if row.grade is not None:
            table[people[row.assessor], passages[row.qid, row.docno]] = row.grade
    return table


def pairs_meet(table: list[list[int | None]]) -> bool:
    """Whether two different values stand on passages with at least two."""
    given_values = [[grade for grade in row if grade is not None] for row in table]
    return len({grade for row in given_values if len(row) > 1 for grade in row}) > 1


@given(tables)
def test_alpha_equals_the_krippendorff_package(table: list[list[int | None]]) -> None:
    assume(pairs_meet(table))
    grades = grades_of(table)
    counted = count_ratings(grades)
    for level in LEVELS:
        theirs = krippendorff.alpha(reliability_data=reliability(grades), level_of_measurement=level)
        assert krippendorff_alpha(counted, level) == pytest.approx(theirs, abs=CLOSE)


@given(
    st.integers(2, 6).flatmap(
        lambda raters: st.lists(st.lists(st.integers(0, 3), min_size=raters, max_size=raters), min_size=1, max_size=25)
    )
)
def test_kappa_equals_statsmodels_where_everybody_graded_everything(table: list[list[int]]) -> None:
    assume(len({grade for row in table for grade in row}) > 1)
    theirs = their_kappa(aggregate_raters(np.array(table))[0])
    assert fleiss_kappa(count_ratings(grades_of([[*row] for row in table])).counts) == pytest.approx(theirs, abs=CLOSE)


@given(tables)
def test_kappa_with_missing_answers_is_gwets_counted_by_hand(table: list[list[int | None]]) -> None:
    rows = [[grade for grade in row if grade is not None] for row in table]
    rows = [row for row in rows if row]
    several = [row for row in rows if len(row) > 1]
    assume(several and len({grade for row in rows for grade in row}) > 1)
    agreed = np.mean([np.mean([a == b for a, b in permutations(row, 2)]) for row in several])
    shares = [Counter(row)[value] / len(row) for row in rows for value in range(5)]
    chance = (np.array(shares).reshape(-1, 5).mean(axis=0) ** 2).sum()
    expected = (agreed - chance) / (1 - chance)
    assert fleiss_kappa(count_ratings(grades_of(table)).counts) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("threshold", [None, 1, 2, 3])
def test_real_assessors_of_csfcube(data: Path, threshold: int | None) -> None:
    grades = read_grades(data / "csfcube" / "assessments.tsv")
    assert len(grades) == 12_488
    counted = count_ratings(grades, threshold)
    table = reliability(grades) if threshold is None else _votes(reliability(grades), threshold)
    two = np.array([column[~np.isnan(column)] for column in table.T])
    assert two.shape == (6_244, 2)
    theirs = their_kappa(aggregate_raters(two)[0])
    assert fleiss_kappa(counted.counts) == pytest.approx(theirs, abs=CLOSE)
    for level in LEVELS:
        theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
        assert krippendorff_alpha(counted, level) == pytest.approx(theirs, abs=CLOSE)


def _votes(table: np.ndarray, threshold: int) -> np.ndarray:
    return np.where(np.isnan(table), np.nan, table >= threshold)


def test_krippendorffs_own_example() -> None:
    """Four observers, twelve units, with gaps; alpha is 0.743, 0.815 and 0.849 (Krippendorff 2011, part C to E)."""
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    counted = count_ratings(grades_of([list(unit) for unit in zip(*observers, strict=True)]))
    found = {level: krippendorff_alpha(counted, level) for level in LEVELS}
    assert found == pytest.approx({"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}, abs=0.0005)


@pytest.mark.parametrize(
    "table",
    [[[3, 3], [3, 3]], [[1], [2], [3]], [[1, None], [None, 2]], [[None, None]]],
    ids=["one category", "one rater", "no overlap", "nothing"],
)
def test_where_agreement_cannot_be_told_it_is_not_a_number(table: list[list[int | None]]) -> None:
    found = measure_agreement(grades_of(table), THRESHOLDS)
    assert all(isnan(figure.value) and figure.low is None for figure in found.figures)
    assert list(found.warnings())


def test_no_grades_at_all_are_no_reason_to_fail() -> None:
    found = measure_agreement(Grades(), THRESHOLDS)
    assert list(found.warnings()) == ["no passage was graded by two people: there is nothing to compare"]
    assert not found.assessors
    assert found.seconds is None


def test_full_agreement_is_one_and_opposite_votes_are_worse_than_chance() -> None:
    same = count_ratings(grades_of([[1, 1, 1], [4, 4, 4], [2, 2, 2]]))
    assert fleiss_kappa(same.counts) == krippendorff_alpha(same, "ordinal") == 1
    opposite = count_ratings(grades_of([[1, 5], [5, 1], [1, 5]]))
    assert fleiss_kappa(opposite.counts) == -1
    assert krippendorff_alpha(opposite) < 0


def test_the_interval_holds_alpha_and_shrinks_with_more_queries() -> None:
    generator = np.random.default_rng(1)

    def study(queries: int) -> Grades:
        truth = generator.integers(1, 6, size=queries * 5)
        seen = np.clip(truth[:, None] + generator.integers(-1, 2, size=(len(truth), 3)), 1, 5)
        return grades_of([[int(grade) for grade in row] for row in seen], per_query=5)

    few, many = count_ratings(study(8)), count_ratings(study(80))
    narrow, wide = alpha_interval(many, "ordinal"), alpha_interval(few, "ordinal")
    assert narrow is not None
    assert wide is not None
    assert krippendorff_alpha(many, "ordinal") in narrow
    assert krippendorff_alpha(few, "ordinal") in wide
    assert narrow.half_width < wide.half_width
    assert alpha_interval(many, "ordinal") == narrow  # the same seed
    assert alpha_interval(count_ratings(study(1))) is None


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ParameterError, match="level: expected nominal or ordinal or interval"):
        krippendorff_alpha(count_ratings(grades_of([[1, 2]])), "cardinal")
