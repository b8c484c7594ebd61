"""Fusing runs: against a naive way, against ranx, and what happens at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, ParameterError, Queries, Run, Stage
from rankwell.retrieve import FUSIONS, CombMNZ, Fusion, Hybrid, ReciprocalRank, WeightedSum, fusion, normaliser

Scores = dict[str, dict[str, float]]

FIRST = Run.from_dict({"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"a": 1.0}})
SECOND = Run.from_dict({"1": {"c": 9.0, "d": 5.0}, "3": {"z": 1.0}})


def test_reciprocal_ranks_are_summed_over_runs() -> None:
    fused = ReciprocalRank()(FIRST, SECOND).to_dict()
    assert fused["1"] == pytest.approx({"c": 1 / 63 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "b": 1 / 62})


def test_queries_of_any_run_are_kept() -> None:
    fused = ReciprocalRank()(FIRST, SECOND, Run.from_dict({"4": {}}))
    assert fused.qids == ("1", "2", "3", "4")
    assert len(fused["4"]) == 0


def test_ties_fall_to_the_higher_document_id() -> None:
    assert ReciprocalRank()(FIRST, SECOND)["1"].docnos.tolist() == ["c", "a", "d", "b"]


def test_a_sum_gives_missing_documents_the_lowest_score() -> None:
    fused = WeightedSum((1, 2))(FIRST, SECOND).to_dict()
    assert fused["1"] == {"c": 2.0, "a": 1.0, "b": 0.5, "d": 0.0}


def test_a_document_that_no_list_holds_is_below_the_found_ones_of_logits() -> None:
    logits = Run.from_dict({"1": {"a": -2.0, "b": -5.0}})
    other = Run.from_dict({"1": {"b": -1.0, "c": -1.5}})
    fused = WeightedSum(normalise="none")(logits, other).to_dict()
    assert fused["1"] == {"a": -3.5, "b": -6.0, "c": -6.5}


def test_agreement_counts_twice_with_mnz() -> None:
    assert CombMNZ()(FIRST, SECOND).to_dict()["1"] == {"c": 2.0, "a": 1.0, "b": 0.5, "d": 0.0}
    assert CombMNZ()(FIRST, FIRST).to_dict()["1"] == {"a": 4.0, "b": 2.0, "c": 0.0}


def test_weights_must_fit_the_runs() -> None:
    with pytest.raises(ParameterError, match="weights: expected 2 numbers, one a run"):
        ReciprocalRank((1.0,))(FIRST, SECOND)


@pytest.mark.parametrize("wrong", [{"weights": (float("nan"),)}, {"k": -1}])
def test_senseless_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        ReciprocalRank(**wrong)  # type: ignore[arg-type]


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match='method: expected rrf or sum or mnz, found "best"'):
        fusion("best")


def test_a_method_takes_its_own_parameters_only() -> None:
    assert fusion("rrf", [1, 2], k=10) == ReciprocalRank((1, 2), k=10)
    assert fusion("sum", normalise="zscore") == WeightedSum(normalise="zscore")
    with pytest.raises(ParameterError, match='rrf: expected only weights and k, found "normalise"'):
        fusion("rrf", normalise="unit")


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(ParameterError, match="runs: expected one run or more"):
        fusion()()


def test_texts_travel_along() -> None:
    documents = {"a": Document("a", {"text": "apple"})}
    first = Run.from_dict({"1": {"a": 1.0}}, queries=Queries.of({"1": "fruit"}), documents=documents)
    second = Run.from_dict({"2": {"a": 1.0}}, queries=Queries.of({"2": "food"}))
    fused = ReciprocalRank()(second, first)
    assert fused.queries is not None
    assert fused.queries.texts() == {"2": "food", "1": "fruit"}
    assert fused.documents is documents


@pytest.mark.long  # ranx compiles its kernels first
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaTypeSafetyWarning")  # theirs
def test_reciprocal_rank_fusion_equals_ranx() -> None:
    ranx = pytest.importorskip("ranx")
    runs = [
        {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"a": 0.5, "e": 0.25}},
        {"1": {"c": 9.0, "d": 5.0, "a": 4.0}, "2": {"e": 7.0, "f": 6.0, "a": 2.0}},
        {"1": {"b": 0.2, "e": 0.1}, "2": {"g": 1.0}},
    ]
    theirs = ranx.fuse(runs=[ranx.Run(run) for run in runs], norm=None, method="rrf", params={"k": 60}).to_dict()
    ours = ReciprocalRank()(*map(Run.from_dict, runs)).to_dict()
    assert {qid: pytest.approx(dict(scores), rel=1e-6) for qid, scores in theirs.items()} == ours


def naive(method: Fusion, runs: list[Run], weights: list[float]) -> Scores:
    """A dictionary a step, as one would write it on a board."""
    fused: Scores = {}
    for qid in dict.fromkeys(qid for run in runs for qid in run.qids):
        documents = {docno for run in runs if qid in run for docno in run[qid].docnos.tolist()}
        fused[qid] = {docno: naive_score(method, runs, weights, qid, docno) for docno in documents}
    return fused


def naive_score(method: Fusion, runs: list[Run], weights: list[float], qid: str, docno: str) -> float:
    total, found = 0.0, 0
    for run, weight in zip(runs, weights, strict=True):
        if qid not in run or not len(run[qid]):
            continue
        docnos = run[qid].docnos.tolist()
        if isinstance(method, ReciprocalRank):
            total += weight / (method.k + docnos.index(docno) + 1) if docno in docnos else 0.0
            continue
        assert isinstance(method, WeightedSum)
        scores = normaliser(method.normalise)(Run.from_dict({qid: dict(run[qid])})).tolist()
        total += weight * (scores[docnos.index(docno)] if docno in docnos else min(0.0, *scores, 0.0))
        found += docno in docnos
    return total * found if isinstance(method, CombMNZ) else total


RUNS = st.dictionaries(
    st.sampled_from("123"),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]), max_size=6),
    min_size=1,
)
METHODS = st.sampled_from(
    [
        ReciprocalRank(),
        ReciprocalRank(k=1),
        CombMNZ(),
        *(WeightedSum(normalise=name) for name in ("unit", "zscore", "none")),
    ]
)


@given(METHODS, st.lists(st.tuples(RUNS, st.sampled_from([0.0, 0.3, 1.0, 2.5])), min_size=1, max_size=4))
def test_fusion_equals_the_naive_way_ties_included(method: Fusion, given: list[tuple[Scores, float]]) -> None:
    runs, weights = [Run.from_dict(scores) for scores, _ in given], [weight for _, weight in given]
    weighted = type(method)(**{**vars(method), "weights": tuple(weights)})
    fused, expected = weighted(*runs), Run.from_dict(naive(method, runs, weights))
    if isinstance(method, WeightedSum) and method.normalise == "zscore":  # sums of squares may be rounded otherwise
        assert fused.qids == expected.qids
        assert fused.to_dict() == {qid: pytest.approx(of, abs=1e-6) for qid, of in expected.to_dict().items()}
    else:
        assert fused == expected


class Fixed(Stage):
    """Gives the same run whatever it is asked."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def apply(self, run: Run) -> Run:  # noqa: ARG002 -- that is the point
        return self.run


def test_a_hybrid_fuses_what_its_rankers_give() -> None:
    hybrid = Hybrid((Fixed(FIRST), Fixed(SECOND)), WeightedSum())
    assert hybrid("anything") == WeightedSum()(FIRST, SECOND)


def test_every_method_stands_in_the_table_by_its_name() -> None:
    assert {name: type(fusion(name)) for name in FUSIONS} == FUSIONS


def test_a_fused_run_of_many_queries_is_in_the_order_of_its_queries() -> None:
    numbers = np.random.default_rng(0).permutation(500)
    runs = [Run.from_dict({str(qid): {f"d{qid % 7}": 1.0, "x": 0.5} for qid in numbers}) for _ in range(2)]
    fused = ReciprocalRank()(*runs)
    assert fused.qids == runs[0].qids
    assert np.diff(fused.offsets).tolist() == [2] * 500
