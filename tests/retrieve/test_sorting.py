"""Sorting gives what a plain sort of all found documents gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rankwell import BM25, Index
from rankwell.cli import app
from rankwell.core import Document, ParameterError
from rankwell.index import IndexWriter
from rankwell.retrieve import sorting
from rankwell.retrieve.sorting import Sort, parse_sort, sort_matches

YEARS = (2020, None, 1999, 2020, 2005, 1999, None, 2020)
DATES = ("2020-03-01", "2019", None, "2019-12", "2020-03-01T10:00", "1999-01-01", "", "2021")
TITLES = ("beta", "Alpha", "alpha", "", "gamma", "Beta", "delta", "zeta")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("sorting") / "index"
    with IndexWriter(folder, metadata=["year", "when"]) as writer:
        for n, (year, date, title) in enumerate(zip(YEARS, DATES, TITLES, strict=True)):
            texts = {"title": title, "text": "fever " * (n % 3 + 1) + "and rest"}
            writer.add(Document(f"d{n}", texts, {"year": year, "when": date}))
    return Index.open(folder)


def plainly(index: Index, sort: Sort, last: int) -> list[tuple[str, float]]:
    found = list(BM25(index, k=100)({"q": "fever"})["q"])

    def key(row: tuple[str, float]) -> tuple[Any, ...]:
        stored = index.documents[row[0]]
        value = (
            stored.fields.get("title", "").casefold() if sort.column == "title" else stored.metadata.get(sort.column)
        )
        return (value in (None, ""), value or 0)

    with_value = [row for row in found if not key(row)[0]]
    without = [row for row in found if key(row)[0]]
    with_value.sort(key=key, reverse=sort.descending)  # stable: relevance stays within a value
    return [*with_value, *without][:last]


@given(st.sampled_from(("year", "when", "title")), st.booleans(), st.integers(1, 10))
def test_sorting_equals_a_plain_sort(index: Index, column: str, descending: bool, last: int) -> None:
    sort = Sort(column, descending)
    assert sort_matches(BM25(index), "fever", sort, last) == plainly(index, sort, last)


def test_filters_and_match_hold(index: Index) -> None:
    ranker = BM25(index, filter="year>=2000", match="and")
    assert [docno for docno, _ in sort_matches(ranker, "fever rest", Sort("year"), 9)] == ["d4", "d3", "d7", "d0"]
    assert sort_matches(BM25(index), "zebra", Sort("year"), 9) == []
    assert sort_matches(BM25(index), "the", Sort("year"), 9) == []


def test_what_cannot_be_sorted_by_is_named(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"sort: expected relevance or one of year, when, title, found .colour."):
        sort_matches(BM25(index), "fever", Sort("colour"), 9)
    monkeypatch.setattr(sorting, "MOST_TITLES", 3)
    with pytest.raises(ParameterError, match="sort by title: expected at most 3 found documents"):
        sort_matches(BM25(index), "fever", Sort("title"), 9)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("relevance", None),
        ("", None),
        ("year", Sort("year")),
        ("year:asc", Sort("year")),
        ("year:desc", Sort("year", descending=True)),
        ("a:b", Sort("a:b")),
        ("a:b:desc", Sort("a:b", descending=True)),
    ],
)
def test_a_sort_is_a_column_and_a_direction(text: str, sort: Sort | None) -> None:
    assert parse_sort(text) == sort
    assert sort is None or parse_sort(str(sort)) == sort


def test_the_command_sorts(index: Index) -> None:
    done = CliRunner().invoke(app, ["search", str(index.path), "fever", "--sort", "year:desc", "--json"])
    assert done.exit_code == 0, done.output
    assert done.output.index('"d4"') < done.output.index('"d2"')
    refused = CliRunner().invoke(app, ["search", str(index.path), "fever", "--sort", "year", "--hybrid"])
    assert "--sort: expected a search by words" in str(refused.exception)
