from __future__ import annotations

import pickle

import pandas as pd
import pytest

from rankwell.core import Judgment, Judgments, RankwellError

ROWS = [("q1", "a", 2), ("q1", "b", 0), ("q2", "a", -1), ("q1", "c", 1)]


def test_judgments_are_found_by_query_and_document() -> None:
    judgments = Judgments(ROWS)
    assert judgments["q1"]["a"] == 2
    assert list(judgments) == ["q1", "q2"]
    assert judgments.count == 4
    assert repr(judgments) == "Judgments(4 judgments of 2 queries)"


def test_rows_come_query_by_query() -> None:
    assert [row.docno for row in Judgments(ROWS).rows()] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(("rel", "relevant"), [(1, ("a", "c")), (2, ("a",)), (0, ("a", "b", "c"))])
def test_relevant_documents_have_at_least_the_asked_grade(rel: int, relevant: tuple[str, ...]) -> None:
    assert Judgments(ROWS).relevant("q1", rel) == relevant


def test_a_query_without_judgments_has_no_relevant_documents() -> None:
    assert Judgments(ROWS).relevant("q9") == ()


def test_the_same_judgment_twice_counts_once() -> None:
    assert Judgments([*ROWS, ROWS[0]]) == Judgments(ROWS)


def test_two_grades_for_one_document_are_refused() -> None:
    with pytest.raises(RankwellError, match="one grade for document 'a' and query 'q1', found 2 and 1"):
        Judgments([*ROWS, ("q1", "a", 1)])


def test_nobody_can_change_a_grade() -> None:
    with pytest.raises(TypeError):
        Judgments(ROWS)["q1"]["a"] = 3  # type: ignore[index]


def test_only_keeps_the_named_queries() -> None:
    assert list(Judgments(ROWS).only(["q2", "q9"]).rows()) == [Judgment("q2", "a", -1)]


def test_dictionaries_and_frames_bring_the_same_judgments_back() -> None:
    judgments = Judgments(ROWS)
    assert Judgments.from_dict(judgments.to_dict()) == judgments
    assert Judgments.from_frame(judgments.to_frame()) == judgments


@pytest.mark.parametrize("names", [("query_id", "doc_id", "relevance"), ("qid", "docno", "label")])
def test_a_frame_is_read_with_other_spellings(names: tuple[str, ...]) -> None:
    table = Judgments(ROWS).to_frame()
    table.columns = pd.Index(names)
    assert Judgments.from_frame(table) == Judgments(ROWS)


@pytest.mark.parametrize("grade", [1.5, float("nan"), float("inf"), "high"])
def test_a_grade_in_a_frame_that_is_not_a_whole_number_is_refused(grade: object) -> None:
    with pytest.raises(RankwellError, match="expected whole numbers as grades"):
        Judgments.from_frame(pd.DataFrame({"qid": ["1"], "docno": ["a"], "grade": [grade]}))


def test_whole_grades_that_a_frame_holds_as_floats_are_whole() -> None:
    table = pd.DataFrame({"qid": ["1"], "docno": ["a"], "grade": [2.0]})
    assert Judgments.from_frame(table).to_dict() == {"1": {"a": 2}}


def test_judgments_travel_between_processes() -> None:
    judgments = Judgments(ROWS)
    again = pickle.loads(pickle.dumps(judgments))  # noqa: S301 -- our own bytes, made a moment ago
    assert again == judgments
    assert list(again.rows()) == list(judgments.rows())
