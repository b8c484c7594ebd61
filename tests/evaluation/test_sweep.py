from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, RankwellError, Run
from rankwell.evaluation import depth_sweep, evaluate, sweep
from rankwell.evaluation.sweeps import parse_depths, parse_points, reranked_to

DOCUMENTS = [f"d{number}" for number in range(12)]
Scores = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-3, 3).map(float), min_size=1)


@given(Scores, st.data(), st.integers(1, 15))
def test_re_ranking_to_a_depth_orders_the_head_and_keeps_the_rest(
    first: dict[str, float], data: st.DataObject, depth: int
) -> None:
    second = {docno: data.draw(st.integers(-3, 3).map(float)) for docno in first}
    before = [docno for docno, _ in Run.from_dict({"q": first})["q"]]
    after = [docno for docno, _ in reranked_to(Run.from_dict({"q": first}), Run.from_dict({"q": second}), depth)["q"]]
    assert after[:depth] == sorted(before[:depth], key=lambda docno: (second[docno], docno), reverse=True)
    assert after[depth:] == before[depth:]


def test_the_deepest_point_of_a_sweep_is_the_re_ranked_run_itself() -> None:
    generator = np.random.default_rng(2)
    judgments = Judgments((f"q{q}", docno, int(generator.integers(0, 2))) for q in range(20) for docno in DOCUMENTS)
    first, second = (
        Run.from_rows((f"q{q}", docno, float(generator.random())) for q in range(20) for docno in DOCUMENTS)
        for _ in range(2)
    )
    found = depth_sweep(judgments, first, second, [1, 4, 12], ["nDCG@10"])
    assert found.mean(12, "nDCG@10") == pytest.approx(evaluate(judgments, second, "nDCG@10").mean("nDCG@10"))
    assert found.mean(1, "nDCG@10") == pytest.approx(evaluate(judgments, first, "nDCG@10").mean("nDCG@10"))
    assert found.difference(1, "nDCG@10").mean == 0
    assert found.difference(4, "nDCG@10").interval.low <= found.difference(4, "nDCG@10").mean


def test_a_document_without_a_new_score_is_said() -> None:
    first, second = Run.from_dict({"q": {"a": 2.0, "b": 1.0}}), Run.from_dict({"q": {"a": 1.0}})
    with pytest.raises(RankwellError, match="no score for 'b'"):
        reranked_to(first, second, 2)


def test_a_query_that_was_not_re_ranked_stays_as_it_is() -> None:
    first = Run.from_dict({"q": {"a": 2.0, "b": 1.0}, "r": {"a": 2.0, "b": 1.0}})
    found = reranked_to(first, Run.from_dict({"q": {"a": 1.0, "b": 2.0}}), 2)
    assert [list(found[qid].docnos) for qid in ("q", "r")] == [["b", "a"], ["a", "b"]]


def test_a_sweep_over_any_number_compares_each_with_the_baseline() -> None:
    judgments = Judgments([("q1", "a", 1), ("q1", "b", 0)])
    good, bad = Run.from_dict({"q1": {"a": 2.0, "b": 1.0}}), Run.from_dict({"q1": {"b": 2.0, "a": 1.0}})
    found = sweep(judgments, bad, {0.9: good, 0.4: bad}, ["RR@10"], name="k1")
    assert list(found.points) == [0.4, 0.9]
    assert [found.difference(point, "RR@10").mean for point in found.points] == [0, 0.5]


def test_depths_and_points_are_read_as_people_write_them() -> None:
    assert parse_depths("10:30:10") == [10, 20, 30]
    assert parse_depths("50,10") == [10, 50]
    assert parse_points(["2=a.trec", "0.5=b.trec"]) == {2.0: "a.trec", 0.5: "b.trec"}
    assert parse_points(["run.trec"]) == {}
    for mistake in ("10:20", "x", "0:5:1", "", "30:10:10"):
        with pytest.raises(RankwellError, match="--depths"):
            parse_depths(mistake)
    with pytest.raises(RankwellError, match="NUMBER=RUN"):
        parse_points(["a.trec", "b.trec"])
    with pytest.raises(RankwellError, match="two at 1"):
        parse_points(["1=a.trec", "1.0=b.trec"])
    for number in ("nan", "inf"):
        with pytest.raises(RankwellError, match="NUMBER=RUN"):
            parse_points([f"{number}=a.trec"])


def test_depths_below_the_end_of_the_run_are_said() -> None:
    judgments = Judgments([("q", "a", 1)])
    run = Run.from_dict({"q": {"a": 1.0, "b": 2.0}})
    assert depth_sweep(judgments, run, run, [1, 2], ["RR"]).note is None
    assert "at most 2 documents" in list(depth_sweep(judgments, run, run, [1, 3], ["RR"]).warnings())[-1]
