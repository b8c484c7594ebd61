from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation import evaluate, parse_measure

TOP_GRADE = 2
# Grades from the top of one list; None: nobody judged it.
lists = st.lists(st.sampled_from([None, 0, 1, TOP_GRADE]), min_size=1, max_size=6)
BOUNDED = [
    *("P@3", "R@3", "RR@3", "MFR@3", "Success@2", "DCG@3", "DCG(dcg='exp-log2')", "nDCG@3", "nDCG", "AP", "AP@3"),
    *("nDCG(dcg='original')@3", "nDCG(dcg='exp-log2')@3", "AP(rel=2)", "P(rel=2)@3", "RBP", "RBP(rel=1)@3", "SetP"),
    *(
        "SetP(relative=True)",
        "SetR",
        "SetF",
        "SetAP",
        "IPrec@0.5",
        "IPrec@1.0",
        "NumRelRet",
        "Judged@3",
        "NumUnjudged@3",
    ),
]


def documents(grades: list[int | None]) -> list[tuple[str, int | None]]:
    return [(f"d{place}", grade) for place, grade in enumerate(grades)]


def judgments(grades: list[tuple[str, int | None]]) -> Judgments:
    # Another query keeps the scale: its top grade is what an unjudged document can have at most.
    others = [("scale", "z", TOP_GRADE), ("q", "not returned", 1)]
    return Judgments([*others, *(("q", docno, grade) for docno, grade in grades if grade is not None)])


def run(grades: list[int | None]) -> Run:
    return Run.from_dict({"q": {f"d{place}": float(-place) for place in range(len(grades))}})


def test_unjudged_documents_count_as_not_relevant_or_leave_the_list() -> None:
    grades: list[int | None] = [None, 1, None, 0, 1]
    zero = evaluate(judgments(documents(grades)), run(grades), ["RR", "P@2"])
    condensed = evaluate(judgments(documents(grades)), run(grades), ["RR", "P@2", "Judged@2"], unjudged="remove")
    assert (zero.per_query("RR")["q"], zero.per_query("P@2")["q"]) == (0.5, 0.5)
    assert (condensed.per_query("RR")["q"], condensed.per_query("P@2")["q"]) == (1.0, 0.5)
    assert condensed.per_query("Judged@2")["q"] == 0.5  # of the list as it was
    assert condensed.unjudged == "remove"


def test_bounds_of_precision_are_reached() -> None:
    grades: list[int | None] = [None, 1, None, 0]
    result = evaluate(judgments(documents(grades)), run(grades), "P@4", unjudged="bounds")
    found = result.bounds[parse_measure("P@4")]
    place = result.qids.index("q")
    assert (found.worst[place], found.best[place]) == (0.25, 0.75)
    assert result.mean("P@4") == pytest.approx(result.mean_bounds("P@4")[0])


@given(lists, st.sampled_from(BOUNDED))
def test_any_judging_of_the_unjudged_documents_stays_inside_the_bounds(grades: list[int | None], name: str) -> None:
    measure = parse_measure(name)
    before = evaluate(judgments(documents(grades)), run(grades), measure, unjudged="bounds")
    place = before.qids.index("q")
    worst, best = before.bounds[measure].worst[place], before.bounds[measure].best[place]
    low, high = min(worst, best), max(worst, best)
    places = [at for at, grade in enumerate(grades) if grade is None and at < (measure.depth or len(grades))]
    if name in ("Judged@3", "NumUnjudged@3"):  # about judging itself: said as it is now
        places = []
    for judging in product((0, 1, TOP_GRADE), repeat=len(places)):
        full = list(grades)
        for at, grade in zip(places, judging, strict=True):
            full[at] = grade
        after = evaluate(judgments(documents(full)), run(full), measure).array(measure)[place]
        assert low - 1e-12 <= after <= high + 1e-12, (judging, low, after, high)
    if measure.higher_is_better and not name.startswith(("DCG", "Num")):
        assert high <= 1 + 1e-12


def test_a_query_without_known_relevant_documents_may_still_turn_out_perfect() -> None:
    found = evaluate(Judgments([("q", "d0", 0)]), run([0, None]), "nDCG", unjudged="bounds")
    assert found.mean_bounds("nDCG") == (0.0, 1.0)


def test_bounds_of_counts_are_sums_as_the_counts_are() -> None:
    judged = Judgments([("q", "d0", 1), ("other", "d0", 1)])
    both = Run.from_dict({"q": {"d0": 2.0, "d1": 1.0}, "other": {"d0": 1.0}})
    assert evaluate(judged, both, "NumRelRet", unjudged="bounds").mean_bounds("NumRelRet") == (2.0, 3.0)


def test_worst_and_best_are_so_named_where_lower_is_better() -> None:
    found = evaluate(Judgments([("q", "d1", 1)]), run([None, 1]), "MFR@5", unjudged="bounds")
    assert found.mean_bounds("MFR@5") == (2.0, 1.0)


@pytest.mark.parametrize("name", ["Bpref", "infAP", "AUC", "Rprec", "nDCG(ideal='list')@3", "DCG(unjudged=1)"])
def test_measures_with_their_own_way_with_unjudged_documents_have_no_bounds(name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        evaluate(Judgments([("q", "d0", 1)]), run([1, None]), name, unjudged="bounds")
    assert str(caught.value) == (
        f"unjudged='bounds': expected a measure that counts unjudged documents as not relevant, found {name}"
    )


def test_bounds_must_be_asked_for() -> None:
    result = evaluate(Judgments([("q", "d0", 1)]), run([1]), "P@1")
    with pytest.raises(ParameterError, match="'bounds' for worst and best cases"):
        result.mean_bounds("P@1")
