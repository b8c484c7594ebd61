from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.core import Judgments, RankwellError
from rankwell.studies.plan.collections import labelled

JUDGED = Judgments.from_dict({"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"d": 0}, "q3": {"e": 2, "f": 2}})


def test_sparse_labels_know_one_relevant_document_a_query_and_nothing_else() -> None:
    assert labelled(JUDGED, "sparse").to_dict() == {"q1": {"a": 1}, "q3": {"f": 1}}


def test_liberal_and_strict_labels_are_thresholds_where_nobody_knows_single_grades() -> None:
    assert labelled(JUDGED, "liberal").to_dict()["q1"] == {"a": 1, "b": 1, "c": 0}
    assert labelled(JUDGED, "strict").to_dict()["q1"] == {"a": 1, "b": 0, "c": 0}
    assert labelled(JUDGED, "graded") is JUDGED
    assert labelled(JUDGED, "original") is JUDGED


def test_labels_of_people_follow_the_majority_and_the_median(tmp_path: Path) -> None:
    grades = tmp_path / "grades.tsv"
    rows = [("a", (3, 3, 1)), ("b", (1, 0, 1)), ("c", (0, -1, 0))]
    lines = [f"q1\t{docno}\tp{person}\t{grade}" for docno, given in rows for person, grade in enumerate(given)]
    grades.write_text("\n".join(["qid\tdocno\tassessor\tgrade", *lines]))
    assert labelled(JUDGED, "liberal", grades).to_dict() == {"q1": {"a": 1, "b": 1, "c": 0}}
    assert labelled(JUDGED, "strict", grades).to_dict() == {"q1": {"a": 1, "b": 0, "c": 0}}
    assert labelled(JUDGED, "graded", grades).to_dict() == {"q1": {"a": 3, "b": 1, "c": 0}}
    with pytest.raises(RankwellError):
        labelled(JUDGED, "liberal", tmp_path / "nothing.tsv")
