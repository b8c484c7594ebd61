"""Bounds of a difference over all grades of unjudged documents, against trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, Run
from rankwell.evaluation import evaluate, parse_measure
from rankwell.evaluation.joint_bounds import joint_bounds

TOP = 2
EXACT = [
    *(
        "P@2",
        "P(rel=2)@3",
        "R@2",
        "R@3",
        "R(rel=2)@2",
        "RR@3",
        "RR",
        "RR(rel=2)@2",
        "MFR@3",
        "Success@2",
        "DCG@3",
        "DCG",
    ),
    *("DCG(dcg='exp-log2')@2", "DCG(dcg='original')@3", "nDCG@3", "nDCG", "nDCG@1", "nDCG(dcg='exp-log2')@3"),
]
OUTER = ["AP", "AP@2", "RBP", "RBP(rel=1)@2", "SetF", "SetAP", "SetP(relative=True)", "IPrec@0.5"]
DOCNOS = "abcde"
rankings = st.permutations(DOCNOS).flatmap(lambda order: st.integers(0, 4).map(lambda length: order[:length]))
grades = st.dictionaries(st.sampled_from([*DOCNOS, "x", "y"]), st.integers(0, TOP), min_size=1, max_size=5)


def as_run(*orders: list[str]) -> Run:
    return Run.from_dict({f"q{n}": {d: -float(rank) for rank, d in enumerate(order)} for n, order in enumerate(orders)})


def judged(*of_queries: dict[str, int]) -> Judgments:
    scale = [("scale", "z", TOP)]  # what an unjudged document can be at most
    return Judgments([*((f"q{n}", d, g) for n, of in enumerate(of_queries) for d, g in of.items()), *scale])


def difference(judgments: Judgments, first: Run, second: Run, name: str) -> float:
    found = evaluate(judgments, {"a": first, "b": second}, name)
    return found["a"].per_query(name)["q0"] - found["b"].per_query(name)["q0"]


def all_differences(known: dict[str, int], orders: tuple[list[str], list[str]], name: str) -> list[float]:
    depth = parse_measure(name).depth
    open_ones = sorted({d for order in orders for d in order[:depth]} - known.keys())
    runs = as_run(orders[0]), as_run(orders[1])
    judgings = product(range(TOP + 1), repeat=len(open_ones))
    return [difference(judged({**known, **dict(zip(open_ones, of, strict=True))}), *runs, name) for of in judgings]


@given(grades, rankings, rankings, st.sampled_from(EXACT))
def test_the_ends_are_what_some_judging_leads_to(known: dict[str, int], a: list[str], b: list[str], name: str) -> None:
    found = joint_bounds(judged(known), as_run(a), as_run(b), parse_measure(name))
    assert found is not None
    assert found.exact
    reached = all_differences(known, (a, b), name)
    assert found.low[0] == pytest.approx(min(reached))
    assert found.high[0] == pytest.approx(max(reached))


@given(grades, rankings, rankings, st.sampled_from(OUTER))
def test_no_judging_leads_outside(known: dict[str, int], a: list[str], b: list[str], name: str) -> None:
    found = joint_bounds(judged(known), as_run(a), as_run(b), parse_measure(name))
    assert found is not None
    reached = all_differences(known, (a, b), name)
    assert found.low[0] - 1e-9 <= min(reached)
    assert max(reached) <= found.high[0] + 1e-9


@given(st.lists(st.tuples(grades, rankings, rankings), min_size=2, max_size=3), st.sampled_from(EXACT))
def test_the_listed_judgments_turn_the_verdict(
    queries: list[tuple[dict[str, int], list[str], list[str]]], name: str
) -> None:
    known, a, b = zip(*queries, strict=True)
    runs = {"a": as_run(*a), "b": as_run(*b)}
    found = joint_bounds(judged(*known), runs["a"], runs["b"], parse_measure(name))
    assert found is not None
    sign = np.sign(found.difference)
    can = sign * (found.mean_low if sign > 0 else found.mean_high) < -1e-9
    if found.turning:
        assert can
        grade = {(one.qid, one.docno): TOP for one in found.turning}
        after = [{**of, **{d: g for (q, d), g in grade.items() if q == f"q{n}"}} for n, of in enumerate(known)]
        turned = evaluate(judged(*after), runs, name)
        assert np.sign(turned["a"].mean(name) - turned["b"].mean(name)) == -sign
    elif can and sign:
        assert name.startswith("nDCG")  # a lower grade than the highest would be needed


def test_the_smallest_list_comes_out_for_precision() -> None:
    known = {"g1": 1, "g2": 1, "n1": 0}
    a, b = ["g1", "g2", "n1"], ["u1", "u2", "u3"]
    found = joint_bounds(judged(known), as_run(a), as_run(b), parse_measure("P@3"))
    assert found is not None
    assert [one.docno for one in found.turning] == ["u1", "u2", "u3"]
    assert found.difference * 2 == pytest.approx(2 / 3)  # two queries; the other has no document
    assert (found.low[0], found.high[0]) == pytest.approx((-1 / 3, 2 / 3))


def test_documents_that_both_return_cancel_out() -> None:
    found = joint_bounds(judged({"g": 1}), as_run(["u", "g"]), as_run(["u", "v"]), parse_measure("P@2"))
    assert found is not None
    assert (found.low[0], found.high[0]) == (0.0, 0.5)  # each run's own bounds would give -0.5 to 1
    assert found.turning == ()


def test_measures_without_bounds_have_none() -> None:
    for name in ("Bpref", "AUC", "NumRelRet", "nDCG(ideal='list')@3", "P(judged_only=True)@2"):
        assert joint_bounds(judged({"g": 1}), as_run(["u"]), as_run(["g"]), parse_measure(name)) is None
