"""What a collection of reviews is like, counted by hand."""

from __future__ import annotations

import json

import pytest

from rankwell.core import Document, Judgments, ParameterError, Queries
from rankwell.reviews import review_statistics
from rankwell.reviews.statistics import statistics_page, statistics_pictures, statistics_tables

DOCUMENTS = [
    Document("a", {"title": "Two words", "text": "five words in this abstract"}),
    Document("b", {"title": "One more title here"}),
    Document("c", {"title": "Short", "text": "an abstract of six words, really"}),
    Document("unjudged", {"title": "Nobody asked for this", "text": "x"}),
]
QUERIES = Queries.of({"r1": "asthma in children", "r2": "fever"})
JUDGMENTS = Judgments.from_dict({"r1": {"a": 1, "b": 0, "lost": 1}, "r2": {"a": 0, "c": 0}})


def words(texts):
    return [len(text.split()) for text in texts]


def test_rows_are_counted_by_review_and_study() -> None:
    found = review_statistics(DOCUMENTS, QUERIES, JUDGMENTS)
    assert (found.reviews, found.documents, found.rows, found.relevant, found.missing) == (2, 3, 4, 1, 1)
    assert found.percent_relevant == 25
    assert found.words["query"].mean == (3 + 3 + 1 + 1) / 4
    assert found.words["title"].mean == (2 + 4 + 2 + 1) / 4
    assert found.words["abstract"].mean == (5 + 5 + 6) / 3
    assert found.studies.mean == 2.5
    assert found.relevant_studies.largest == 2
    assert found.tokens is None


def test_tokens_are_those_a_cross_encoder_reads() -> None:
    found = review_statistics(DOCUMENTS, QUERIES, JUDGMENTS, count_tokens=words, token_limit=10)
    assert found.tokens is not None
    without, with_title = found.tokens["query + abstract"], found.tokens["query + title + abstract"]
    assert (without.values, without.counts) == ((9, 10, 11), (1, 1, 1))
    assert (with_title.values, with_title.counts) == ((10, 11, 13), (1, 2, 1))
    assert with_title.percent_over(10) == 75


def test_the_figures_are_shown_as_tables_pictures_and_a_page() -> None:
    found = review_statistics(DOCUMENTS, QUERIES, JUDGMENTS, count_tokens=words, token_limit=10)
    overview, lengths = statistics_tables(found)
    assert ("rows labelled relevant", 1, 25.0) in overview.rows
    assert ("query + title + abstract", "tokens", 11.25, 11.0, 13, 75.0) in lengths.rows
    assert list(statistics_pictures(found)) == [
        "words-query",
        "words-title",
        "words-abstract",
        "tokens-query-abstract",
        "tokens-query-title-abstract",
        "labels",
        "studies",
    ]
    page = statistics_page(found, "<Reviews>", "rankwell review stats x").html()
    assert "&lt;Reviews&gt;" in page
    assert page.count("<svg") == 7


def test_an_empty_collection_has_statistics_too() -> None:
    found = review_statistics([], Queries(), Judgments())
    assert (found.rows, found.percent_relevant) == (0, None)
    assert statistics_pictures(found) == {}
    assert all(table.render() for table in statistics_tables(found))
    assert "Token counts need a tokenizer" in statistics_page(found, "x", None).html()


def test_programs_get_everything_as_json() -> None:
    found = json.loads(review_statistics(DOCUMENTS, QUERIES, JUDGMENTS, count_tokens=words).to_json())
    assert found["tokens"]["query + abstract"]["percent_over_limit"] == 0
    assert found["studies_per_review"]["counts"] == [1, 1]


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="token_limit"):
        review_statistics([], Queries(), Judgments(), token_limit=0)
