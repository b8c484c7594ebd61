"""Filters over metadata columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.core.arrays import strings
from rankwell.index.columns import Column, NumberColumn, TextColumn
from rankwell.retrieve import Not, Or, filter_mask, parse_filter
from rankwell.retrieve.filters import SIGNS, Compare, OneOf, Present, columns_of
from rankwell.retrieve.syntax import And, Node


def text(*values: str) -> TextColumn:
    distinct = sorted(set(values) - {""})
    codes = [distinct.index(value) if value else -1 for value in values]
    return TextColumn(np.array(codes, dtype=np.int32), strings(distinct))


COLUMNS: dict[str, Column] = {
    "year": NumberColumn(np.array([2019, 2020, np.nan, 2021])),
    "source": text("PMC", "WHO", "PMC", ""),
    "publisher": text("Elsevier BV", "Wiley", "", "Elsevier BV"),
    "published": text("2019-12-31", "2020-03-01", "", "2021-05-05"),
    "open": NumberColumn(np.array([1.0, 0.0, 1.0, np.nan])),
}


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("year>=2020", [1, 3]),
        ("year = 2020", [1]),
        ("year==2020.0", [1]),
        ("year!=2020", [0, 3]),
        ("year<2020", [0]),
        ("not year<2020", [1, 2, 3]),
        ("year and not year<2020", [1, 3]),
        ("year", [0, 1, 3]),
        ("not year", [2]),
        ("year in (2019, 2021)", [0, 3]),
        ("year>=2020 and source=PMC", []),
        ("year>=2020 or source=PMC", [0, 1, 2, 3]),
        ("source!=PMC", [1]),
        ("source", [0, 1, 2]),
        ('publisher="Elsevier BV"', [0, 3]),
        ("publisher in ('Wiley', Springer)", [1]),
        ("publisher != Wiley", [0, 3]),
        ("publisher", [0, 1, 3]),
        ("published>=2020-03", [1, 3]),
        ("published<2020", [0]),
        ("open=true", [0, 2]),
        ("open=False", [1]),
        ("source=PMC AND (year<2020 OR NOT year)", [0, 2]),
        ("source=PMC or source=WHO and year=1900", [0, 2]),
    ],
)
def test_a_filter_lets_through(text: str, documents: list[int]) -> None:
    assert np.flatnonzero(filter_mask(parse_filter(text), COLUMNS)).tolist() == documents


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "yaer>2000",
            'filter: expected one of the metadata columns year, source, publisher, published, open, found "yaer"',
        ),
        ("year>new", 'filter, year: expected a number, as the column holds numbers, found "new"'),
        ("year=nan", 'filter, year: expected a number, as the column holds numbers, found "nan"'),
        ("year>", "filter, column 6: expected a value after >, found the end"),
        ("year>and", 'filter, column 6: expected a value after >, found "and"'),
        (">2000", 'filter, column 1: expected the name of a metadata column, "(" or not, found ">"'),
        ("year 2000", 'filter, column 6: expected AND, OR or the end, found "2000"'),
        ("year in 2000", 'filter, column 9: expected "(" after in, found "2000"'),
        ("year in (2000", 'filter, column 14: expected "," or ")", found the end'),
        ("year in ()", 'filter, column 10: expected a value, found ")"'),
        ("source='PMC", 'filter, column 8: expected a closing quote for this one, found "\'"'),
        ("year!2000", 'filter, column 5: expected one of = != < <= > >=, found "!"'),
        ("(" * 100_000, 'filter, column 51: expected at most 50 parentheses and NOTs within each other, found "("'),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        filter_mask(parse_filter(text), COLUMNS)
    assert str(caught.value) == message


def test_an_index_without_metadata_says_so() -> None:
    with pytest.raises(ParameterError, match="metadata \\(the index keeps none\\)"):
        filter_mask(parse_filter("year"), {})


def test_the_columns_that_a_filter_asks() -> None:
    assert columns_of(parse_filter("year>1 and (source or not year<3)")) == ("year", "source")


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
QUESTIONS = (
    st.builds(Present, TEXT)
    | st.builds(Compare, TEXT, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), TEXT)
    | st.builds(OneOf, TEXT, st.lists(TEXT, min_size=1, max_size=3).map(tuple))
)
FILTERS = st.recursive(
    QUESTIONS,
    lambda inside: (
        st.lists(inside, min_size=2, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inside, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts)))
        | inside.map(Not)
    ),
    max_leaves=8,
)


@given(FILTERS)
def test_what_is_written_reads_back(condition: Node) -> None:
    assert parse_filter(str(condition)) == condition


def test_a_column_in_which_nobody_has_a_value_matches_nothing() -> None:
    nothing = NumberColumn(np.full(3, np.nan))
    assert not filter_mask(parse_filter("source=PMC or source!=PMC or source"), {"source": nothing}).any()


@given(st.lists(st.sampled_from(["", "a", "b", "c d"]), min_size=1), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
def test_text_compares_value_by_value(values: list[str], sign: str) -> None:
    found = filter_mask(Compare("x", sign, "b"), {"x": text(*values)})
    assert found.tolist() == [value != "" and SIGNS[sign](value, "b") for value in values]
