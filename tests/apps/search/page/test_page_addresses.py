"""An address gives the same page again, and says nothing that is usual."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from fastapi import HTTPException
from hypothesis import given
from hypothesis import strategies as st

from rankwell.apps.search.page.views import (
    BY,
    MATCHES,
    PAGE_SIZES,
    Filters,
    Range,
    RankingSettings,
    SideBySide,
    View,
    given_of,
    is_shortest,
    read_filters,
    read_side_by_side,
    read_view,
    request_values,
)
from rankwell.core import ParameterError
from rankwell.retrieve.filters import parse_filter

USUAL = RankingSettings(rerank="mono", depth=50)
NUMBERS = st.floats(0, 100, allow_nan=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
RANKINGS = st.builds(
    RankingSettings,
    by=st.sampled_from(BY),
    match=st.sampled_from(MATCHES),
    k1=NUMBERS,
    b=st.floats(0, 1),
    rm3=st.booleans(),
    rerank=st.sampled_from(["none", "mono", "other/model"]),
    depth=st.integers(1, 200),
    passages=st.sampled_from(["", "150:50", "paragraphs"]),
    interpolate=st.none() | st.floats(0, 1),
    weights=st.dictionaries(NAMES, NUMBERS, max_size=3).map(lambda found: tuple(sorted(found.items()))),
)
FILTERS = st.builds(
    Filters,
    # An address keeps the values of a column together.
    values=st.dictionaries(NAMES, st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True), max_size=2).map(
        lambda found: tuple((column, value) for column, values in found.items() for value in values)
    ),
    ranges=st.dictionaries(NAMES, st.builds(Range, st.just("1990"), st.sampled_from(["", "2000.5"])), max_size=2).map(
        lambda found: tuple(found.items())
    ),
)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(str.strip)


@given(st.builds(View, WORDS, st.integers(1, 99), st.sampled_from(PAGE_SIZES), FILTERS, RANKINGS, st.booleans()))
def test_an_address_reads_back_as_the_same_view(view: View) -> None:
    query = urlencode(view.pairs(USUAL))
    assert read_view(given_of(query), USUAL) == view
    assert is_shortest(query, view.pairs(USUAL))


@given(WORDS, FILTERS, RANKINGS, RANKINGS)
def test_two_rankings_keep_their_own_settings(
    q: str, filters: Filters, left: RankingSettings, right: RankingSettings
) -> None:
    view, usual = SideBySide(q, filters, left, right), (RankingSettings(), USUAL)
    assert read_side_by_side(given_of(urlencode(view.pairs(usual))), usual) == view


def test_nothing_usual_stands_in_an_address() -> None:
    assert View("cats", ranking=USUAL).pairs(USUAL) == [("q", "cats")]
    form = "q=cats&match=or&k1=1.2&b=0.75&rm3=0&rerank=mono&depth=50&passages=&interpolate=&weight.title=&k=10"
    assert read_view(given_of(form), USUAL) == View("cats", ranking=USUAL)
    assert not is_shortest(form, [("q", "cats")])


def test_a_checkbox_has_the_last_word() -> None:
    assert read_view(given_of("rm3=0&rm3=1"), USUAL).ranking.rm3
    assert not read_view(given_of("rm3=0"), USUAL).ranking.rm3


@pytest.mark.parametrize(
    "query", ["k1=much", "k1=nan", "depth=1.5", "match=maybe", "by=magic", "page=0", "k=11", "page=-1", "from.year=old"]
)
def test_what_cannot_be_read_is_refused_by_its_name(query: str) -> None:
    with pytest.raises(ParameterError) as caught:
        read_view(given_of(query), USUAL)
    assert query.partition("=")[0] in str(caught.value)


@given(FILTERS)
def test_filters_are_conditions_that_the_index_can_read(filters: Filters) -> None:
    condition = filters.condition()
    assert (condition is None) == (not filters)
    if condition is not None:
        parse_filter(condition)


def test_a_value_is_chosen_and_taken_back() -> None:
    filters = read_filters(given_of("is.source=PMC&from.year=2000&to.year="))
    assert filters == Filters((("source", "PMC"),), (("year", Range("2000")),))
    assert filters.toggled("source", "WHO").chosen("source") == ("PMC", "WHO")
    assert filters.toggled("source", "PMC").chosen("source") == ()
    assert filters.without("year").condition() == "source in (PMC)"


def test_an_address_with_thousands_of_parts_is_refused() -> None:
    with pytest.raises(HTTPException, match="422"):
        given_of("&".join(f"is.a={number}" for number in range(1000)))
    with pytest.raises(ParameterError):
        read_filters(given_of("&".join(f"is.a={number}" for number in range(200))))


def test_the_page_asks_the_api_for_the_same_thing() -> None:
    ranking = RankingSettings(by="both", rerank="mono", depth=20, weights=(("title", 2.0),), interpolate=0.5)
    values = request_values("cats", Filters((("year", "2020"),)), ranking, k=10)
    assert values["hybrid"]
    assert (values["depth"], values["weights"], values["filter"]) == (20, {"title": 2.0}, "year in (2020)")
    assert "depth" not in request_values("cats", Filters(), RankingSettings())
