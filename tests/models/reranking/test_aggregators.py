from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.models.reranking.passages import AGGREGATORS, aggregator

# Three documents with 3, 1 and 2 passages.
SCORES = np.array([0.2, 0.9, 0.1, 0.5, 0.3, 0.7])
STARTS = np.array([0, 3, 4])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("first", [0.2, 0.5, 0.3]),
        ("max", [0.9, 0.5, 0.7]),
        ("mean", [0.4, 0.5, 0.5]),
        ("sum", [1.2, 0.5, 1.0]),
    ],
)
def test_a_document_is_what_its_passages_are(name: str, expected: list[float]) -> None:
    assert aggregator(name)(SCORES, STARTS) == pytest.approx(expected)


@given(st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=8), min_size=1, max_size=8))
def test_no_document_depends_on_the_others(documents: list[list[float]]) -> None:
    scores = np.array([score for document in documents for score in document])
    starts = np.cumsum([0, *map(len, documents[:-1])])
    for kind in AGGREGATORS.values():
        together = kind(scores, starts)
        alone = [kind(np.array(document), np.array([0]))[0] for document in documents]
        assert together == pytest.approx(alone, abs=1e-9)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match='aggregate: expected first or max or mean or sum, found "median"'):
        aggregator("median")
