"""Facets count what a plain loop counts."""

from __future__ import annotations

from collections import Counter
from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core.arrays import strings
from rankwell.index import DateFacet, NumberColumn, RangeFacet, TextColumn, ValueFacet


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


def test_dates_are_counted_by_the_unit_that_fits() -> None:
    days = texts(*(f"2020-02-{day:02d}" for day in range(25, 30)), "2020-03-01", "2020-03-01T10:00", None)
    facet = days.facet(np.ones(8, dtype=bool))
    assert facet == DateFacet(
        "2020-02-25",
        "2020-03-01",
        "day",
        (*((f"2020-02-{day}", 1) for day in range(25, 30)), ("2020-03-01", 2)),
        missing=1,
    )
    months = texts("2019-11-30", "2019-12", "2020", "2020-01-31", "2020-02-01", "2020-02-02", "2020-03-01")
    assert months.facet(mask(True, True, True, True, False, True, True)) == DateFacet(
        "2019-11-30",
        "2020-03-01",
        "month",
        (("2019-11", 1), ("2019-12", 1), ("2020-01", 2), ("2020-02", 1), ("2020-03", 1)),
        missing=0,
    )


@given(st.lists(st.dates() | st.none(), min_size=1, max_size=60), st.data())
def test_a_histogram_of_dates_counts_every_date_once(values: list[date | None], data: st.DataObject) -> None:
    column = texts(*(None if value is None else value.isoformat() for value in values))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    facet = column.facet(chosen)
    if not isinstance(facet, DateFacet):
        assert len(column.values) <= 6
        return
    starts = [start for start, _ in facet.bars]
    assert len(starts) <= 24
    assert starts == sorted(set(starts))
    given = sorted(value.isoformat() for value, taken in zip(values, chosen, strict=True) if taken and value)
    expected = Counter(max(start for start in starts if start <= value) for value in given)
    assert dict(facet.bars) == {start: expected[start] for start in starts}
    assert facet.missing == sum(value is None for value, taken in zip(values, chosen, strict=True) if taken)


def test_text_that_is_no_date_is_counted_as_values() -> None:
    column = texts(*(f"2020-{month:02d}" for month in range(1, 8)), "2020-13")
    assert isinstance(column.facet(np.ones(8, dtype=bool)), ValueFacet)
