"""Facets count what a plain loop counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core.arrays import strings
from rankwell.index import NumberColumn, RangeFacet, TextColumn, ValueFacet


def numbers(*values: float) -> NumberColumn:
    return NumberColumn(np.array(values, dtype=np.float64))


def texts(*values: str | None) -> TextColumn:
    distinct = sorted({value for value in values if value is not None})
    codes = [-1 if value is None else distinct.index(value) for value in values]
    return TextColumn(np.array(codes, dtype=np.int32), strings(distinct))


def mask(*chosen: bool) -> np.ndarray:
    return np.array(chosen, dtype=bool)


def test_the_commonest_values_come_first_and_the_rest_is_counted() -> None:
    column = texts("b", "a", "b", None, "c", "a", "d")
    assert column.facet(np.ones(7, dtype=bool), most=2) == ValueFacet((("a", 2), ("b", 2)), others=2, missing=1)


def test_only_the_documents_of_the_mask_are_counted() -> None:
    column = texts("b", "a", "b", None)
    assert column.facet(mask(True, False, False, True)) == ValueFacet((("b", 1),), others=0, missing=1)


def test_a_few_numbers_are_a_choice() -> None:
    column = numbers(1, 0, 1, np.nan, 0.5)
    found = column.facet(np.ones(5, dtype=bool))
    assert found == ValueFacet((("1", 2), ("0", 1), ("0.5", 1)), others=0, missing=1)


def test_years_are_a_range_whose_steps_cut_no_year() -> None:
    years = [*range(1990, 2021), 2020]
    found = numbers(*years, np.nan).facet(np.ones(len(years) + 1, dtype=bool))
    assert isinstance(found, RangeFacet)
    assert (found.lowest, found.highest, found.width, found.missing) == (1990, 2020, 2, 1)
    assert found.bars == (*[2] * 15, 2)
    assert found.whole


def test_the_range_is_that_of_all_documents_whatever_was_found() -> None:
    column = numbers(*range(10))
    found = column.facet(np.arange(10) == 3)
    assert isinstance(found, RangeFacet)
    assert (found.lowest, found.highest, sum(found.bars)) == (0, 9, 1)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1), st.randoms(use_true_random=False))
def test_every_number_is_counted_once(values: list[float], random: object) -> None:
    among = np.array([random.random() < 0.5 for _ in values], dtype=bool)  # type: ignore[attr-defined]
    found = numbers(*values).facet(among, most=len(values))
    chosen = np.array(values)[among]
    assert found.missing == int(np.isnan(chosen).sum())
    if isinstance(found, RangeFacet):
        assert sum(found.bars) == int(np.isfinite(chosen).sum())
    else:
        assert sum(count for _, count in found.counts) == len(chosen) - found.missing


@given(st.lists(st.one_of(st.none(), st.sampled_from("abcdefg"))), st.integers(0, 8))
def test_values_are_counted_as_a_loop_counts_them(values: list[str | None], most: int) -> None:
    found = texts(*values).facet(np.ones(len(values), dtype=bool), most)
    assert isinstance(found, ValueFacet)
    counts = Counter(value for value in values if value is not None)
    assert dict(found.counts).items() <= counts.items()
    assert [count for _, count in found.counts] == sorted(counts.values(), reverse=True)[:most]
    assert found.others == counts.total() - sum(dict(found.counts).values())


def test_a_column_of_names_that_each_come_once_is_no_facet() -> None:
    assert not texts("10.1/a", "10.1/b", "10.1/c", "10.1/d", None).is_facet(5)
    assert not texts(None, None).is_facet(2)
    assert not numbers(np.nan).is_facet(1)
    assert texts("PMC", "WHO", "PMC", "PMC").is_facet(4)
    assert numbers(2020).is_facet(1)
