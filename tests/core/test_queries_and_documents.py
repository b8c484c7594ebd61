from __future__ import annotations

import pytest

from rankwell.core import Document, Queries, Query, RankwellError

TOPIC = Query("7", {"query": "fever", "question": "what causes fever?"})


def test_the_first_wording_of_a_query_is_the_default() -> None:
    assert TOPIC.text() == "fever"
    assert TOPIC.text("question") == "what causes fever?"


def test_a_wording_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(RankwellError, match="query 7: expected a text named 'narrative', found query, question"):
        TOPIC.text("narrative")


def test_a_query_without_wordings_has_an_empty_text() -> None:
    assert Query("1", {}).text() == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("fever", {"1": "fever"}),
        (["fever", "cough"], {"1": "fever", "2": "cough"}),
        ({"a": "fever"}, {"a": "fever"}),
        ([], {}),
    ],
)
def test_queries_are_made_of_plain_text(given: str | list[str] | dict[str, str], expected: dict[str, str]) -> None:
    assert Queries.of(given).texts() == expected


def test_a_query_id_that_comes_twice_is_refused() -> None:
    with pytest.raises(RankwellError, match="each id once, found '7' twice"):
        Queries([TOPIC, TOPIC])


def test_queries_keep_their_order_and_know_their_wordings() -> None:
    queries = Queries([Query("b", {"query": "x"}), TOPIC, Query("a", {"narrative": "y"})])
    assert list(queries) == ["b", "7", "a"]
    assert queries.fields == ("query", "question", "narrative")
    assert repr(queries) == "Queries(3 queries, texts: query, question, narrative)"


def test_only_passes_over_unknown_ids() -> None:
    assert list(Queries.of({"a": "x", "b": "y"}).only(["c", "b"])) == ["b"]


def test_the_text_of_a_document_joins_the_fields_it_has() -> None:
    document = Document("d", {"title": "T", "body": "B"})
    assert document.text() == "T B"
    assert document.text("body", "abstract", "title") == "B T"
    assert Document("d", {}).text() == ""
