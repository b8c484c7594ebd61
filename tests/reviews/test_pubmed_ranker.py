"""PubMed as a ranker, and a ranking as a classification."""

from __future__ import annotations

import logging

import pytest
from eutilities_server import EUtilitiesServer, article

from rankwell.core import Judgments, ParameterError, Queries, RankwellError, Run
from rankwell.evaluation import evaluate
from rankwell.reviews import EUtilities
from rankwell.reviews.pubmed.client import PubMedRanker, is_newer, top_share

QUERIES = Queries.of({"r1": "Treatment of [fever]", "r2": "Nothing like it"})


@pytest.fixture
def server(server: EUtilitiesServer) -> EUtilitiesServer:
    titles = {
        "1": ("Treatment of fever", 2020),
        "2": ("Fever and its treatment", 2009),
        "3": ("Treatment of fever", 2010),
    }
    server.articles = {pmid: article(pmid, title, year=year) for pmid, (title, year) in titles.items()}
    server.articles["4"] = article("4", "Fever, treatment of an unknown year", year=None)
    return server


def test_the_order_of_pubmed_is_the_ranking_and_newer_articles_are_dropped(
    client: EUtilities, server: EUtilitiesServer
) -> None:
    run = PubMedRanker(client, dates={"r1": "2010-06", "r2": "2010"})(QUERIES)
    order = client.search("Treatment of fever", 1000).ids
    assert set(order) == {"1", "2", "3", "4"}
    assert list(run["r1"].docnos) == [pmid for pmid in order if pmid != "1"]
    assert list(run["r2"].docnos) == []
    assert run.qids == ("r1", "r2")
    assert run.tag == "PubMed"
    assert run.documents is not None
    assert run.documents["3"].metadata["year"] == 2010
    assert server.asked("esearch.fcgi")[0]["retmax"] == "1000"


def test_without_a_date_nothing_is_dropped_and_that_is_said(
    client: EUtilities, server: EUtilitiesServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        run = PubMedRanker(client)(QUERIES)
    assert len(run["r1"]) == len(server.articles)
    assert "2 reviews have no date" in caplog.text


def test_it_is_a_stage_like_any_other(client: EUtilities) -> None:
    ranker = PubMedRanker(client, dates={"r1": "2010", "r2": "2010"})
    assert len(ranker.top(1)(QUERIES)) == 1
    assert ranker.fingerprint() == PubMedRanker(client, dates={"r2": "2010", "r1": "2010"}).fingerprint()
    assert ranker.fingerprint() != PubMedRanker(client, dates={"r1": "2010", "r2": "2010"}, k=10).fingerprint()
    with pytest.raises(RankwellError, match="expected a run with its queries"):
        ranker(Run.from_dict({"r1": {"1": 1.0}}))
    with pytest.raises(ParameterError, match="k: expected a number of documents from 1 to 10,000"):
        PubMedRanker(client, k=20_000)


def test_documents_that_nobody_judged_are_not_relevant(client: EUtilities) -> None:
    run = PubMedRanker(client, dates={"r1": "2010", "r2": "2010"})(QUERIES)
    judgments = Judgments.from_dict({"r1": {"3": 1, "99": 1}, "r2": {"98": 1}})
    rank = list(run["r1"].docnos).index("3") + 1
    assert evaluate(judgments, run, ["AP"]).mean("AP") == pytest.approx(1 / rank / 2 / 2)


@pytest.mark.parametrize(
    ("published", "than", "newer"),
    [
        ("2011", "2010", True),
        ("2010", "2010", False),
        ("2010-07", "2010-06", True),
        ("2010-07", "2010", False),
        ("2010", "2010-06-01", False),
        ("2010-06-02", "2010-06-01", True),
        ("", "2010", False),
        ("2010", "", False),
    ],
)
def test_newer_is_what_is_surely_newer(published: str, than: str, newer: bool) -> None:
    assert is_newer(published, than) is newer


def test_the_top_share_is_labelled_relevant() -> None:
    run = Run.from_dict({"q": {name: float(10 - place) for place, name in enumerate("abcdefghij")}})
    judgments = Judgments.from_dict({"q": {"a": 1, "d": 1, "e": 0, "f": 0, "z": 0}})
    confusion = top_share(run, judgments)  # 2 of 5 judged ones are relevant: the first 4 of 10
    assert (confusion.true_positive, confusion.false_positive) == (2, 2)
    assert (confusion.false_negative, confusion.true_negative) == (0, 6)
    assert confusion.accuracy == 0.8
    assert top_share(run, judgments, 0.1).accuracy == 0.9
    with pytest.raises(ParameterError, match="share"):
        top_share(run, judgments, 65)
