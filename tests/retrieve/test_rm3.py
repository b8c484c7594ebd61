"""RM3: what is learnt from the first documents, and what the second search asks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError, RankwellError, Run, Top
from rankwell.retrieve import RM3
from rankwell.retrieve.expansion import relevance_model


def test_the_model_is_the_mean_of_the_documents_by_their_scores() -> None:
    model = relevance_model([(3.0, {"a": 1, "b": 1}), (1.0, {"b": 3, "c": 1})])
    assert model == pytest.approx({"a": 0.375, "b": 0.375 + 0.1875, "c": 0.0625})


def test_documents_count_the_same_where_no_score_is_positive() -> None:
    assert relevance_model([(-3.0, {"a": 1}), (0.0, {"b": 1})]) == {"a": 0.5, "b": 0.5}
    assert relevance_model([(-3.0, {"a": 1}), (1.0, {"b": 1})]) == {"a": 0.0, "b": 1.0}
    assert relevance_model([]) == {}
    assert relevance_model([(1.0, {})]) == {}


def test_the_second_search_asks_for_half_query_and_half_feedback(ranker: Any) -> None:
    RM3(ranker, fb_docs=1, fb_terms=2)("fox")
    # The first document is "fox" (fox twice): half of it is fox, a quarter brown, a quarter quick; two terms are kept.
    assert ranker.asked[-1]["1"] == pytest.approx({"fox": 0.5 + 0.5 * 2 / 3, "brown": 0.5 * 1 / 3})


def test_feedback_changes_the_ranking_and_finds_more(ranker: Any) -> None:
    before, after = ranker("cat"), RM3(ranker)("cat")
    assert before["1"].docnos.tolist() == ["cat"]
    assert after["1"].docnos.tolist() == ["cat", "dog"]  # lazy, as the cat


def test_all_weight_on_the_query_keeps_the_ranking(ranker: Any) -> None:
    kept = RM3(ranker, original_query_weight=1)("fox lazy")
    assert kept["1"].docnos.tolist() == ranker("fox lazy")["1"].docnos.tolist()


def test_no_weight_on_the_query_asks_for_the_feedback_alone(ranker: Any) -> None:
    RM3(ranker, fb_docs=1, fb_terms=1, original_query_weight=0)("lazy cat")
    assert ranker.asked[-1]["1"] == {"cat": 1.0}


def test_a_query_that_finds_nothing_stays_as_it_is(ranker: Any) -> None:
    assert len(RM3(ranker)("unicorn")) == 0
    assert ranker.asked[-1]["1"] == {"unicorn": 1.0}
    assert len(RM3(ranker)("")) == 0


def test_documents_that_come_with_the_run_are_the_feedback(ranker: Any) -> None:
    run = Run.from_dict({"1": {"dog": 1.0}}, queries=ranker("fox").queries)
    RM3(ranker, fb_terms=1)(run)
    assert ranker.asked[-1]["1"] == {"fox": 0.5, "dog": 0.5}


@pytest.mark.parametrize("wrong", [{"fb_docs": 0}, {"fb_terms": 0}, {"original_query_weight": 1.5}])
def test_senseless_parameters_are_refused(wrong: dict[str, Any], ranker: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        RM3(ranker, **wrong)


def test_a_ranker_that_knows_no_terms_is_refused() -> None:
    with pytest.raises(ParameterError, match="ranker: expected a ranker by terms, as BM25"):
        RM3(Top(3))("fox")


def test_a_run_without_texts_is_refused(ranker: Any) -> None:
    with pytest.raises(RankwellError, match="expected the texts of its queries"):
        RM3(ranker)(Run.from_dict({"1": {"fox": 1.0}}))


@given(
    st.lists(
        st.tuples(
            st.floats(0.1, 10), st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5), min_size=1, max_size=4)
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_model_is_a_distribution(documents: list[tuple[float, dict[str, int]]]) -> None:
    assert sum(relevance_model(documents).values()) == pytest.approx(1)
