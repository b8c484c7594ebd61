"""Expansion by similar queries."""

from __future__ import annotations

from typing import Any

import pytest

from rankwell.core import ParameterError
from rankwell.retrieve import SimilarQueries, WeightedSum


def test_scores_are_those_of_the_query_plus_the_weighted_ones_of_its_variants(ranker: Any) -> None:
    variants = {"1": [("brown dog", 0.5), ("lazy fox", 0.25)]}
    expanded = SimilarQueries(ranker, variants)("fox dog")
    lists = [ranker("fox dog"), ranker("brown dog"), ranker("lazy fox")]
    assert expanded == WeightedSum((1, 0.5, 0.25), normalise="none")(*lists)


def test_a_query_without_variants_is_ranked_as_it_is(ranker: Any) -> None:
    queries = {"1": "fox", "2": "lazy"}
    expanded = SimilarQueries(ranker, {"1": [("den", 2.0)]})(queries)
    assert expanded["2"].docnos.tolist() == ranker(queries)["2"].docnos.tolist()
    assert expanded["1"].docnos.tolist()[0] == "den"


def test_terms_that_cancel_out_are_not_asked_for(ranker: Any) -> None:
    SimilarQueries(ranker, {"1": [("fox", -1.0)]})("fox lazy")
    assert ranker.asked[-1]["1"] == {"lazy": 1.0}


def test_a_weight_must_be_a_number(ranker: Any) -> None:
    with pytest.raises(ParameterError, match="variants of query 1: expected finite weights"):
        SimilarQueries(ranker, {"1": [("fox", float("nan"))]})
