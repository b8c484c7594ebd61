"""Scores of comparisons, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.models.duo.ranking import DUO_AGGREGATES, duo_aggregate

# p[i, j]: document i beats document j. The diagonal counts for nothing.
CHANCES = np.array([[9.0, 0.9, 0.6], [0.2, 9.0, 0.5], [0.4, 0.7, 9.0]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [0.9 + 0.6, 0.2 + 0.5, 0.4 + 0.7]),
        ("binary", [2, 0, 1]),  # 0.5 is no win
        ("min", [0.6, 0.2, 0.4]),
        ("max", [0.9, 0.5, 0.7]),
        ("sample:2", [1.5, 0.7, 1.1]),  # of two others, both
    ],
)
def test_every_aggregate_gives_what_its_formula_gives(name: str, expected: list[float]) -> None:
    aggregate = duo_aggregate(name)
    against = aggregate.against(3, np.random.default_rng(1))
    assert aggregate.scores(CHANCES, against) == pytest.approx(expected)


def test_a_sample_is_the_sum_over_as_many_others_as_are_drawn() -> None:
    aggregate = duo_aggregate("sample:1")
    against = aggregate.against(3, np.random.default_rng(1))
    found = aggregate.scores(CHANCES, against)
    for place, score in enumerate(found):
        assert score in np.delete(CHANCES[place], place)


@given(st.integers(0, 12), st.integers(1, 14), st.integers(0, 99))
def test_the_sample_has_no_document_twice_and_never_itself(count: int, most: int, seed: int) -> None:
    aggregate = duo_aggregate(f"sample:{most}")
    against = aggregate.against(count, np.random.default_rng(seed))
    assert not against.diagonal().any()
    assert against.sum(axis=1).tolist() == [min(most, count - 1)] * count
    assert against.sum() == aggregate.inferences(count)
    again = aggregate.against(count, np.random.default_rng(seed))
    assert (against == again).all()


@pytest.mark.parametrize("name", DUO_AGGREGATES)
def test_all_others_cost_k_times_k_less_one(name: str) -> None:
    aggregate = duo_aggregate(name)
    assert aggregate.inferences(50) == 50 * 49 == aggregate.against(50, np.random.default_rng(1)).sum()


@pytest.mark.parametrize("name", [*DUO_AGGREGATES, "sample:3"])
def test_a_document_alone_and_no_document_at_all_are_scored(name: str) -> None:
    aggregate, lots = duo_aggregate(name), np.random.default_rng(1)
    assert aggregate.scores(np.zeros((1, 1)), aggregate.against(1, lots)).tolist() == [0]
    assert aggregate.scores(np.zeros((0, 0)), aggregate.against(0, lots)).tolist() == []
    assert aggregate.inferences(1) == aggregate.inferences(0) == 0


@pytest.mark.parametrize("name", ["mean", "sample", "sample:", "sample:x", "sample:0", "sample:-1"])
def test_an_unknown_aggregate_of_comparisons_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="aggregate: expected sum, binary, min, max, or sample:M"):
        duo_aggregate(name)
