from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from overlap_scorer import Overlap, a_run

from rankwell.core import ParameterError, RankwellError, Run, Stage
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import Interpolate

RUN = a_run({"a": "x", "b": "fever cough", "c": "fever", "d": "fever fever fever"})  # 4, 3, 2, 1 before


@dataclass(frozen=True)
class Given(Stage):
    """Scores by docno; documents without one are dropped."""

    scores: tuple[tuple[str, float], ...]

    def apply(self, run: Run) -> Run:
        known = dict(self.scores)
        return Run.from_dict({qid: {d: known[d] for d, _ in ranking if d in known} for qid, ranking in run.rankings()})


def test_both_are_brought_to_one_scale_and_mixed(scorer: Overlap) -> None:
    found = Interpolate(CrossEncoder(scorer), alpha=0.25)(RUN)
    # BERT: a -2, b 0, c -1, d 1, so 0, 2/3, 1/3, 1; BM25: 1, 2/3, 1/3, 0
    expected = {"a": 0.75, "b": 2 / 3, "c": 1 / 3, "d": 0.25}
    assert found.to_dict()["1"] == pytest.approx(expected)
    assert found.tag == "Overlap"


def test_only_the_re_ranked_top_is_mixed_and_the_others_stay_below(scorer: Overlap) -> None:
    found = Interpolate(CrossEncoder(scorer, k=3), alpha=1.0)(RUN)
    assert list(found["1"])[:3] == [("b", 1.0), ("c", 0.5), ("a", 0.0)]
    assert found["1"].docnos.tolist()[3] == "d"
    assert found["1"].scores[3] < 0


def test_a_depth_of_its_own_wins(scorer: Overlap) -> None:
    found = Interpolate(CrossEncoder(scorer), alpha=1.0, k=2)(RUN)
    assert found["1"].docnos.tolist() == ["b", "a", "c", "d"]
    assert len(scorer.seen) == 2


def test_a_pipeline_is_a_re_ranker_too(scorer: Overlap) -> None:
    both = CrossEncoder(scorer, k=3) >> CrossEncoder(scorer, k=2)
    assert Interpolate(both, alpha=1.0)(RUN)["1"].docnos.tolist() == ["b", "c", "a", "d"]


@given(st.lists(st.tuples(st.floats(-50, 50, width=32), st.floats(-50, 50, width=32)), min_size=1, max_size=12))
def test_alpha_goes_from_the_first_run_to_the_re_ranker(pairs: list[tuple[float, float]]) -> None:
    first = Run.from_dict({"1": {f"d{place}": score for place, (score, _) in enumerate(pairs)}})
    again = Given(tuple((f"d{place}", score) for place, (_, score) in enumerate(pairs)))
    for alpha, run in ((0.0, first), (1.0, again(first))):
        mixed = Interpolate(again, alpha)(first)
        known = dict(run["1"])
        ordered = [known[docno] for docno, _ in mixed["1"]]
        # 32 bits may not tell scores apart that differ by less than a millionth of their range.
        assert (np.diff(ordered) <= 1e-5 * (np.ptp(ordered) + 1e-30)).all()


def test_what_the_re_ranker_dropped_stays_below() -> None:
    found = Interpolate(Given((("c", 2.0), ("d", 1.0))), alpha=0.9)(RUN)
    assert found["1"].docnos.tolist() == ["c", "d", "a", "b"]


@pytest.mark.parametrize("alpha", [-0.1, 1.5, float("nan")])
def test_alpha_is_a_share(alpha: float) -> None:
    with pytest.raises(ParameterError, match="alpha: expected a number from 0 to 1"):
        Interpolate(Given(()), alpha)


def test_the_re_ranker_is_checked_first() -> None:
    with pytest.raises(RankwellError, match="no-such-model"):
        Interpolate(CrossEncoder("no-such-model")).check()


def test_a_run_without_documents_stays_empty(scorer: Overlap) -> None:
    assert len(Interpolate(CrossEncoder(scorer))("fever")) == 0
