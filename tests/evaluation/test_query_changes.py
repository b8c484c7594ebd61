from __future__ import annotations

import pytest

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation.query_changes import KINDS, QueryChange, query_changes

GRADES = {"r1": 1, "r2": 2, "r3": 3, "n1": 0, "n2": 0}


def change(before: str, after: str, depth: int = 2, *, condensed: bool = False) -> QueryChange:
    runs = [Run.from_dict({"q": _scores(docnos)} if docnos else {}) for docnos in (before, after)]
    judgments = Judgments.from_dict({"q": GRADES})
    (found,) = query_changes(judgments, runs[0], runs[1], depth, condensed=condensed)
    return found


def _scores(docnos: str) -> dict[str, float]:
    return {docno: -float(rank) for rank, docno in enumerate(docnos.split())}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("r1 n1", "", "no results"),
        ("", "r1 n1", "no results"),
        ("r1 n1 r2", "r1 n1 r3", "same"),
        ("n1 n2 r1", "n2 n1 r1", "none found"),
        ("r1 r2", "r1 u1", "unjudged instead"),
        ("r1 r2 n1", "u1 n1 n2", "lost"),  # two left, and only one unjudged one came
        ("n1 n2", "n1 r1", "found"),
        ("n1 r1", "n1 n2", "lost"),
        ("n1 r1", "r2 r1", "more relevant"),
        ("r2 r1", "n1 r1", "fewer relevant"),
        ("n1 r1", "r1 n1", "first up"),
        ("r1 n1", "n1 r1", "first down"),
        ("r1 n1", "r2 n1", "other relevant"),
        ("r1 r2", "r2 r1", "other order"),
        ("r1 n1", "r1 n2", "others moved"),
    ],
)
def test_each_change_has_its_kind(before: str, after: str, kind: str) -> None:
    assert change(before, after).kind == kind


def test_a_query_without_a_relevant_document_says_so() -> None:
    run = Run.from_dict({"q": {"n1": 1.0}})
    (found,) = query_changes(Judgments.from_dict({"q": {"n1": 0}}), run, run)
    assert found.kind == "no relevant known"


def test_the_facts_say_what_moved_and_from_where_to_where() -> None:
    assert change("r3 n1 n2", "n1 u1 n2 r3").why == (
        "first relevant: 1 → 4; relevant in the top 2: 1 → 0; unjudged in the top 2: 0 → 1; grade 3 left: 1 → 4"
    )
    assert change("n1 n2", "n1 r2").why == (
        "first relevant: none → 2; relevant in the top 2: 0 → 1; grade 2 entered: none → 2"
    )
    assert change("r1 n1", "r1 n2").why == ""


def test_lists_without_unjudged_documents_move_up() -> None:
    assert change("r1 r2", "u1 r1 r2").kind == "unjudged instead"
    assert change("r1 r2", "u1 r1 r2", condensed=True).kind == "same"


def test_kinds_have_different_names_and_the_last_fits_always() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    with pytest.raises(ParameterError, match="depth"):
        list(query_changes(Judgments(), Run.from_dict({}), Run.from_dict({}), 0))
