"""Scores of one query on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError, Run
from rankwell.core.run import unit
from rankwell.retrieve import NORMALISERS, normaliser, zscore

RUN = Run.from_dict({"1": {"a": 6.0, "b": 4.0, "c": 2.0}, "2": {}, "3": {"a": -1.0}, "4": {"x": 3.0, "y": 3.0}})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unit", [1, 0.5, 0, 1, 1, 1]),
        ("zscore", [1.5**0.5, 0, -(1.5**0.5), 0, 0, 0]),
        ("share", [2 / 3, 1 / 3, 0, 1, 0.5, 0.5]),
        ("borda", [1, 2 / 3, 1 / 3, 1, 1, 0.5]),
        ("none", [6, 4, 2, -1, 3, 3]),
    ],
)
def test_scores_are_normalised_within_their_query(name: str, expected: list[float]) -> None:
    assert normaliser(name)(RUN) == pytest.approx(expected)


@pytest.mark.parametrize("name", NORMALISERS)
def test_a_run_without_documents_has_nothing_to_normalise(name: str) -> None:
    assert normaliser(name)(Run.from_dict({"1": {}, "2": {}})).tolist() == []


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match='normalise: expected unit or zscore or share or borda or none, found "x"'):
        normaliser("x")


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_unit_stays_between_0_and_1_and_keeps_the_order(scores: list[float]) -> None:
    run = Run.from_dict({"1": {str(place): score for place, score in enumerate(scores)}})
    values = unit(run)
    assert values.min() >= 0
    assert values.max() == 1
    assert (np.diff(values) <= 0).all()


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_zscore_has_mean_0(scores: list[float]) -> None:
    run = Run.from_dict({"1": {str(place): score for place, score in enumerate(scores)}})
    assert zscore(run).mean() == pytest.approx(0, abs=1e-6)
