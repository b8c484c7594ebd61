"""The re-assessment study's rules, case by case."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, ParameterError
from rankwell.judging.grades import Grades
from rankwell.judging.labels import (
    KEPT,
    NOT_CONFIRMED,
    TOO_FEW,
    Answers,
    LabelRules,
    ceiled_median,
    graded_label,
    majority,
    make_labels,
    panels,
    thresholds_of,
    with_original,
)

LIBERAL, STRICT = 2, 3


def graded(*given_to_d1: int | None, others: int = 1) -> Grades:
    """Assessors a, b, c, ... grade passage d1 as told; None says that the assessor left it out.

    Everybody gives d2, d3 and d4 the same grade, so that all are on the panel.
    """
    rows = []
    for assessor, grade in zip("abcdefg", given_to_d1, strict=False):
        rows += [("q", docno, assessor, others) for docno in ("d2", "d3", "d4")]
        if grade is not None:
            rows.append(("q", "d1", assessor, grade))
    return Grades.of(rows)


@pytest.mark.parametrize(
    ("grades", "liberal", "strict", "graded_as"),
    [
        ((1, 1, 1), 0, 0, 1),
        ((1, 2, 3), 1, 0, 2),
        ((3, 3, 1), 1, 1, 3),
        ((1, 1, 5), 0, 0, 1),
        ((5, 2, 5), 1, 1, 5),
        ((2, 3, 3, 4, 5), 1, 1, 3),
        ((1, 1, 2, 3, 3), 1, 0, 2),
        ((5, 5, 5, 1, 1, 1, 1), 0, 0, 1),
        ((1, 2, 2, 3, 4, 5, 5), 1, 1, 3),
    ],
)
def test_an_odd_number_of_assessors_has_a_majority_and_a_median(
    grades: tuple[int, ...], liberal: int, strict: int, graded_as: int
) -> None:
    labels = make_labels(graded(*grades))
    assert labels.binary["liberal"]["q"]["d1"] == liberal
    assert labels.binary["strict"]["q"]["d1"] == strict
    assert labels.graded["q"]["d1"] == graded_as


@pytest.mark.parametrize(("original", "label"), [(1, 1), (0, 0), (None, 0)])
def test_where_an_even_number_of_votes_ties_the_original_label_stands(original: int | None, label: int) -> None:
    known = Judgments([("q", "d1", original)] if original is not None else [])
    labels = make_labels(graded(1, 1, 4, 5), known, confirmed=False)
    assert labels.binary["liberal"]["q"]["d1"] == label
    assert labels.binary["strict"]["q"]["d1"] == label


@pytest.mark.parametrize(("grades", "median"), [((2, 2, 3, 3), 3), ((1, 2, 5, 5), 4), ((1, 1, 2, 2), 2), ((4, 4), 4)])
def test_an_even_number_of_grades_gives_the_median_rounded_up(grades: tuple[int, ...], median: int) -> None:
    assert ceiled_median(grades) == median
    assert graded_label(Answers(grades), lowest=1) == median


@pytest.mark.parametrize("original", [1, 0])
def test_with_one_of_three_answers_missing_two_that_agree_decide_and_two_that_differ_do_not(original: int) -> None:
    known = Judgments([("q", "d1", original)])
    agreed = make_labels(graded(4, None, 4), known, confirmed=False)
    assert (agreed.binary["liberal"]["q"]["d1"], agreed.graded["q"]["d1"]) == (1, 4)
    differ = make_labels(graded(1, 4, None), known, confirmed=False)
    assert differ.binary["liberal"]["q"]["d1"] == original
    assert differ.binary["strict"]["q"]["d1"] == original
    assert differ.graded["q"]["d1"] == 1
    differ_but_relevant = make_labels(graded(4, 5, None), known, confirmed=False)
    assert differ_but_relevant.binary["strict"]["q"]["d1"] == 1  # both votes say so
    assert differ_but_relevant.graded["q"]["d1"] == 1  # the grades do not agree


def test_with_an_answer_missing_an_odd_number_left_still_has_its_median() -> None:
    assert make_labels(graded(2, 4, 5, None)).graded["q"]["d1"] == 4
    assert make_labels(graded(2, 4, 5, 5, None)).graded["q"]["d1"] == 1


def test_the_lowest_grade_is_that_of_the_scale() -> None:
    rules = LabelRules(lowest=0, thresholds=thresholds_of(0, 3))
    labels = make_labels(graded(2, 3, None, others=0), rules=rules)
    assert labels.graded["q"]["d1"] == 0
    assert labels.binary["strict"]["q"]["d1"] == 1


def test_the_median_of_the_rest_can_be_asked_for_instead_of_the_lowest_grade() -> None:
    assert make_labels(graded(4, 5, None), rules=LabelRules(missing="median")).graded["q"]["d1"] == 5


def test_i_cannot_tell_is_a_missing_answer() -> None:
    told = [("q", "d1", "a", 4), ("q", "d1", "b", 5), ("q", "d1", "c", None)]
    rest = [("q", "d2", assessor, 1) for assessor in "abc"]
    labels = make_labels(Grades.of([*told, *rest]))
    assert labels.graded["q"] == {"d1": 1, "d2": 1}
    assert labels.binary["strict"]["q"] == {"d1": 1, "d2": 0}


def test_of_seven_assessors_one_who_graded_one_passage_of_twenty_does_not_count() -> None:
    rows = [("q", f"d{n}", assessor, 2 + (assessor in "def")) for n in range(20) for assessor in "abcdef"]
    grades = Grades.of([*rows, ("q", "d0", "g", 5)])
    labels = make_labels(grades)
    assert set(labels.graded["q"].values()) == {3}  # 2, 2, 2, 3, 3, 3: the median of six, not the lowest grade
    assert panels(grades)["q"].assessors == tuple("abcdef")


def test_a_passage_that_nobody_graded_keeps_its_original_label_or_has_none() -> None:
    rows = [("q", docno, assessor, 3) for docno in ("d1", "d2", "d3", "d4") for assessor in "abc"]
    unsure = [("q", docno, assessor, None) for docno in ("d5", "d6") for assessor in "abc"]
    labels = make_labels(Grades.of([*rows, *unsure]), Judgments([("q", "d5", 1), ("q", "d1", 1)]))
    assert labels.binary["liberal"]["q"]["d5"] == 1
    assert "d6" not in labels.binary["liberal"]["q"]
    assert not {"d5", "d6"} & labels.graded["q"].keys()


def query(qid: str, assessors: str, grade: int) -> list[tuple[str, str, str, int]]:
    return [(qid, docno, assessor, grade) for docno in ("known", "other") for assessor in assessors]


def test_algorithm_1_keeps_queries_with_enough_assessors_whose_known_passage_is_still_relevant() -> None:
    rows = [*query("good", "abc", 3), *query("few", "ab", 5), *query("lost", "abcd", 1), *query("middling", "abc", 2)]
    grades = Grades.of([*rows, *query("unknown", "abc", 5)])
    original = Judgments((qid, "known", 1) for qid in ("good", "few", "lost", "middling"))
    labels = make_labels(grades, original)
    assert labels.kept == ("good",)
    assert labels.fates == {
        "good": KEPT,
        "few": TOO_FEW,
        "lost": NOT_CONFIRMED,
        "middling": NOT_CONFIRMED,
        "unknown": NOT_CONFIRMED,
    }
    assert {*labels.binary["liberal"], *labels.graded, *labels.original} == {"good"}


def test_only_the_liberal_threshold_keeps_more() -> None:
    grades = Grades.of([*query("good", "abc", 3), *query("middling", "abc", 2)])
    original = Judgments([("good", "known", 1), ("middling", "known", 1)])
    assert make_labels(grades, original, LabelRules(thresholds={"liberal": 2})).kept == ("good", "middling")


def test_of_several_known_passages_one_that_is_still_relevant_is_enough() -> None:
    rows = [("q", "d1", assessor, 1) for assessor in "abc"] + [("q", "d2", assessor, 4) for assessor in "abc"]
    original = Judgments([("q", "d1", 1), ("q", "d2", 1), ("q", "not in the pool", 1)])
    assert make_labels(Grades.of(rows), original).kept == ("q",)


def test_without_original_judgments_the_number_of_assessors_decides() -> None:
    grades = Grades.of([*query("q1", "abc", 1), *query("q2", "ab", 5)])
    assert make_labels(grades).kept == ("q1",)
    assert make_labels(grades, rules=LabelRules(assessors=2)).kept == ("q1", "q2")


def test_assessors_below_the_english_level_are_left_out() -> None:
    levels = {"a": 9, "b": 7, "c": 8, "d": 6, "e": None}
    rows = [("q", "d1", who, 5 if who == "d" else 2, None, level) for who, level in levels.items()]
    counted = make_labels(Grades.of(rows), rules=LabelRules(english=7, assessors=4))
    assert counted.kept == ("q",)
    assert make_labels(Grades.of(rows), rules=LabelRules(english=8, assessors=4)).kept == ()


def test_missing_judgments_are_put_to_those_there_were() -> None:
    original = Judgments([("q1", "old", 2), ("q1", "again", 0), ("q2", "old", 0)])
    new = Judgments([("q1", "again", 1), ("q1", "new", 1)])
    assert with_original(new, original, binary=True).to_dict() == {
        "q1": {"old": 1, "again": 1, "new": 1},
        "q2": {"old": 0},
    }
    assert with_original(new, original, binary=False)["q1"]["old"] == 2


def test_a_grade_below_the_scale_and_a_threshold_that_everything_reaches_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"grades: expected none below 1, the lowest of the scale .*, found 0"):
        make_labels(graded(0, 1, 2))
    with pytest.raises(ParameterError, match="threshold of all: expected a grade above 1"):
        LabelRules(thresholds={"all": 1})


def test_a_scale_of_two_points_has_no_strict_set() -> None:
    assert thresholds_of(0, 1) == {"liberal": 1}
    assert thresholds_of(1, 5) == {"liberal": LIBERAL, "strict": STRICT}


NUMBERS = st.lists(st.integers(1, 5), max_size=8)


@given(NUMBERS, st.sampled_from([True, False, None]), st.integers(2, 4))
def test_what_is_relevant_at_a_threshold_is_relevant_at_a_lower_one(
    grades: list[int], original: bool | None, threshold: int
) -> None:
    answers = Answers(tuple(grades))
    if majority(answers, threshold + 1, original):
        assert majority(answers, threshold, original)


@given(NUMBERS.filter(bool))
def test_the_ceiled_median_is_the_median_of_statistics_rounded_up(grades: list[int]) -> None:
    from math import ceil
    from statistics import median

    assert ceiled_median(grades) == ceil(median(grades))


ROWS = st.dictionaries(
    st.tuples(st.sampled_from("pq"), st.sampled_from("xyz"), st.sampled_from("abcd")),
    st.one_of(st.none(), st.integers(1, 5)),
    max_size=24,
)


@given(ROWS, st.randoms(use_true_random=False))
def test_labels_do_not_depend_on_the_order_of_answers(
    answers: dict[tuple[str, str, str], int | None], random: Random
) -> None:
    rows = [(*who, grade) for who, grade in answers.items()]
    shuffled = random.sample(rows, len(rows))
    original, rules = Judgments([("p", "x", 1), ("q", "y", 1)]), LabelRules(assessors=2)
    first, second = (make_labels(Grades.of(order), original, rules) for order in (rows, shuffled))
    assert first.fates == second.fates
    assert {name: judged.to_dict() for name, judged in first.sets.items()} == {
        name: judged.to_dict() for name, judged in second.sets.items()
    }


def test_labels_that_rest_on_one_grade_of_three_are_counted() -> None:
    assert list(make_labels(graded(4, None, None)).notes()) == [
        "1 label rests on a single grade, because the others who were asked gave none"
    ]
    assert not list(make_labels(graded(4, 4, None)).notes())
