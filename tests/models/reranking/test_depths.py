from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from overlap_scorer import Overlap, a_run

from rankwell.core import Document, Judgments, ParameterError, Queries, Run
from rankwell.evaluation.sweeps import reranked_to
from rankwell.models.cross_encoder.ranking import CrossEncoder, at_depths
from rankwell.models.explanation import Interpolate
from rankwell.pipelines import tune

TEXTS = st.lists(st.sampled_from(["", "fever", "x", "fever cough", "cough cough cough"]), min_size=1, max_size=12)


@given(TEXTS, st.lists(st.integers(1, 15), min_size=1, max_size=4))
def test_every_depth_is_what_a_run_of_its_own_would_be(texts: list[str], depths: list[int]) -> None:
    run = a_run({f"d{place:02}": text for place, text in enumerate(texts)})
    stage = CrossEncoder(Overlap(), cache=False)
    for depth, found in at_depths(stage, run, depths).items():
        alone = replace(stage, k=depth)(run)
        assert found == alone
        assert found.tag == alone.tag


def test_a_sweep_of_depths_sees_the_same_order(scorer: Overlap) -> None:
    run = a_run({f"d{place:02}": "fever " * (place % 4) + "x" for place in range(9)})
    stage = CrossEncoder(scorer)
    for depth, found in at_depths(stage, run, range(1, 10)).items():
        assert reranked_to(run, stage(run), depth).docnos.tolist() == found.docnos.tolist()


def test_the_share_of_the_re_ranker_is_tuned_without_scoring_a_pair_twice(scorer: Overlap) -> None:
    texts = {"1": "fever", "2": "cough", "3": "fever cough"}
    documents = {"a": Document("a", {"text": "x"}), "b": Document("b", {"text": "fever and cough"})}
    run = Run.from_dict({qid: {"a": 2.0, "b": 1.0} for qid in texts}, queries=Queries.of(texts), documents=documents)
    judgments = Judgments.from_dict({qid: {"b": 1} for qid in texts})
    found = tune(Interpolate(CrossEncoder(scorer)), {"alpha": [0.0, 0.25, 0.75]}, run, judgments, "RR@10", folds=3)
    assert found.best.setting == {"alpha": 0.75}
    assert found.cross_validated == 1.0
    assert len(scorer.seen) == 6


def test_no_pair_is_scored_twice(scorer: Overlap) -> None:
    run = a_run({f"d{place}": f"fever {place}" for place in range(6)})
    at_depths(CrossEncoder(scorer, cache=False), run, [2, 4, 5])
    assert len(scorer.seen) == 5


def test_single_runs_from_kept_scores_score_nothing_again(scorer: Overlap) -> None:
    run = a_run({f"d{place}": f"fever {place}" for place in range(6)})
    for depth in (2, 5, 4):
        CrossEncoder(scorer, k=depth)(run)
    assert len(scorer.seen) == 5


@pytest.mark.parametrize("depths", [[], [0], [3, -1]])
def test_a_depth_is_a_number_of_documents(scorer: Overlap, depths: list[int]) -> None:
    with pytest.raises(ParameterError, match="depths: expected numbers of documents"):
        at_depths(CrossEncoder(scorer), a_run({"a": "x"}), depths)
