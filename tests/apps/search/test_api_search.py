"""Searching over HTTP gives what the command gives, and says clearly what it cannot do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from serving_api import make_index, served, settings_for
from starlette.testclient import TestClient
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import Document
from rankwell.index import IndexWriter

OPTIONS: list[dict[str, Any]] = [
    {},
    {"k": 1},
    {"match": "and"},
    {"match": "expr:droplets AND NOT title:masks"},
    {"match": 'expr:"fresh air" OR soap'},
    {"filter": "year>=2021 and source=PMC"},
    {"k1": 0.0},
    {"k1": 3.0, "b": 0.0},
    {"b": 1.0, "idf": "robertson-raw"},
    {"idf": "plain"},
    {"weights": "title=1"},
    {"weights": "title=0.25,abstract=0.75"},
    {"rm3": True},
    {"rm3": True, "rm3_settings": "2,3,0.3"},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("api") / "papers")


@pytest.fixture
def client(index: Path) -> Any:
    with served(settings_for(index)) as client:
        yield client


def words_of(options: dict[str, Any]) -> list[str]:
    """The options as the command has them."""
    words: list[str] = []
    for name, value in options.items():
        flag = "-k" if name == "k" else "--" + name.replace("_", "-")
        words += [flag] if value is True else [flag, str(value)]
    return words


def ranking(rows: list[dict[str, Any]]) -> list[tuple[str, float]]:
    return [(row["id"], row["score"]) for row in rows]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_gives_the_ranking_of_the_command(
    index: Path, client: TestClient, options: dict[str, Any]
) -> None:
    query = "droplets in the air"
    done = CliRunner().invoke(app, ["search", str(index), query, *words_of(options), "--json"])
    expected = ranking(json.loads(done.stdout))
    by_query = client.get("/api/search?" + urlencode({"q": query, **options}))
    by_body = client.post("/api/search", json={"q": query, **options})
    assert expected
    assert ranking(by_query.json()["results"]) == expected
    assert ranking(by_body.json()["results"]) == expected


def test_a_result_has_its_fields_metadata_and_marked_words(client: TestClient) -> None:
    found = client.get("/api/search?q=soap").json()
    assert (found["query"], found["stage"], found["partial"], found["commit"]) == ("soap", "first", False, 1)
    (result,) = found["results"]
    assert (result["id"], result["rank"], result["first_rank"], result["moved"]) == ("p2", 1, 1, None)
    assert result["fields"]["title"] == "Hand washing"
    assert result["metadata"] == {"year": 2021, "source": "WHO"}
    assert result["snippet"]["title"] == [{"text": "Hand washing", "marked": False}]
    assert result["snippet"]["abstract"][0] == {"text": "Soap", "marked": True}
    assert "".join(piece["text"] for piece in result["snippet"]["abstract"]) == result["fields"]["abstract"]


def test_only_what_is_wanted_is_sent(client: TestClient) -> None:
    (bare,) = client.get("/api/search?q=soap&fields=&snippets=false").json()["results"]
    assert (bare["fields"], bare["snippet"], bare["metadata"]) == ({}, {}, {})
    (titled,) = client.get("/api/search?q=soap&fields=title").json()["results"]
    assert titled["fields"] == {"title": "Hand washing"}


def test_pages_follow_each_other(client: TestClient) -> None:
    whole = client.get("/api/search?q=droplets&k=3").json()["results"]
    rest = client.get("/api/search?q=droplets&k=2&offset=1").json()["results"]
    assert rest == whole[1:]


def test_weights_may_be_an_object_in_json(client: TestClient) -> None:
    as_object = client.post("/api/search", json={"q": "droplets", "weights": {"title": 0.25, "abstract": 0.5}})
    as_text = client.get("/api/search?q=droplets&weights=title%3D0.25,abstract%3D0.5")
    assert ranking(as_object.json()["results"]) == ranking(as_text.json()["results"]) != []


def test_matched_documents_are_counted_whole_and_by_facet(client: TestClient) -> None:
    found = client.get("/api/search?q=droplets&k=1&facets=source,year").json()
    assert found["total"] == 3
    assert found["facets"]["source"]["values"] == [{"value": "PMC", "count": 3}]
    assert found["facets"]["source"]["missing"] == 0
    assert sum(entry["count"] for entry in found["facets"]["year"]["values"]) == 3
    assert client.get("/api/search?q=droplets&filter=year%3E2021&total=true").json()["total"] == 2
    assert client.get("/api/search?q=droplets").json()["total"] is None


def test_the_explanation_adds_up_to_the_score(client: TestClient) -> None:
    for result in client.get("/api/search?q=large+droplets&explain=true").json()["results"]:
        parts = sum(term["part"] for term in result["explain"]["terms"])
        assert parts == pytest.approx(result["score"], rel=1e-5)
        assert result["explain"]["stages"] == [{"stage": "BM25", "rank": result["rank"], "score": result["score"]}]


def test_stop_words_alone_find_nothing_and_say_so(client: TestClient) -> None:
    found = client.get("/api/search?q=the+of").json()
    assert found["results"] == []
    assert "no terms" in found["warnings"][0]


def test_words_are_never_parsed(client: TestClient) -> None:
    found = client.get("/api/search?" + urlencode({"q": 'droplets AND "NOT (title:'})).json()
    assert {row["id"] for row in found["results"]} == {"p1", "p3", "p6"}


def test_a_stream_begins_with_the_first_stage_and_says_when_it_is_done(client: TestClient) -> None:
    streamed = client.get("/api/search/stream?q=soap")
    assert streamed.headers["content-type"].startswith("text/event-stream")
    first, done, end = streamed.text.split("\n\n")
    assert first.startswith("event: first\ndata: ")
    assert json.loads(first.split("data: ")[1])["results"][0]["id"] == "p2"
    assert (done, end) == ("event: done\ndata: {}", "")


def test_the_quick_way_and_the_described_route_answer_alike(client: TestClient) -> None:
    from rankwell.apps.search.api import routes as quick_search

    quick = client.get("/api/search?q=droplets&explain=1").json()
    before, quick_search.PATH = quick_search.PATH, "/nowhere"
    try:
        described = client.get("/api/search?q=droplets&explain=1").json()
    finally:
        quick_search.PATH = before
    assert {**quick, "took_ms": 0} == {**described, "took_ms": 0}


@pytest.mark.parametrize(
    ("query", "where", "expected"),
    [
        ("k=0", "k", "a whole number from 1"),
        ("k=1.5", "k", "a whole number from 1"),
        ("k=1001", "k", "at most 1000 together with offset"),
        ("k=1000&offset=1", "k", "at most 1000 together with offset"),
        ("k=99999999999999999999999", "k", "a whole number from 1"),
        ("k=10&k=11", "k", "one value"),
        ("k=101&explain=1", "k", "at most 100 together with explain"),
        ("k1=nan", "k1", "a number from 0 to 1e+09"),
        ("k1=inf", "k1", "a number from 0 to 1e+09"),
        ("b=2", "b", "a number from 0 to 1"),
        ("idf=none", "idf", "one of lucene, plain, robertson, robertson-raw"),
        ("match=near", "match", "or, and, ann:100, expr:"),
        ("match=expr:((a", "expression, column 4", ")"),
        ("filter=nix%3D1", "filter", "one of the metadata columns year, source"),
        ("weights=titel%3D1", "field", "one of those in papers (title, abstract)"),
        ("weights=title", "weights", "fields with numbers"),
        ("facets=nix", "facets", "one of year, source"),
        ("rm3=1&rm3_settings=1000,10,0.5", "rm3_settings", "at most 100 documents and terms"),
        ("rm3=1&rm3_settings=x", "rm3_settings", "documents, terms and weight"),
        ("rm3=maybe", "rm3", "true or false"),
        ("variants=1000", "variants", "at most 20"),
        ("rerank=gpt-2", "rerank", "none: this server has no model"),
        ("rerank=/etc", "rerank", "none: this server has no model"),
        ("depth=201", "depth", "at most 200"),
        ("timeout=11", "timeout", "at most 10 seconds"),
        ("nix=1", "nix", "one of the options"),
        ("q=" + "x" * 2001, "q", "at most 2000 characters"),
        ("dense=1&hybrid=1", "dense", "one of --dense and --hybrid"),
    ],
)
def test_what_cannot_be_is_refused_by_name(client: TestClient, query: str, where: str, expected: str) -> None:
    refused = client.get(f"/api/search?{query if query.startswith('q=') else 'q=droplets&' + query}")
    problem = refused.json()
    assert refused.status_code == 422
    assert set(problem) == {"error", "expected", "found", "where"}
    assert problem["where"] == where
    assert expected in problem["expected"]


def test_a_search_by_meaning_without_vectors_is_refused_without_a_path(index: Path, client: TestClient) -> None:
    refused = client.get("/api/search?q=droplets&dense=1")
    assert refused.status_code == 422
    assert "papers has no vectors" in refused.json()["error"]
    assert str(index.parent) not in refused.text


def test_later_commits_are_seen_and_a_response_tells_which(index: Path, tmp_path: Path) -> None:
    from rankwell.core import Document
    from rankwell.index import IndexWriter

    own = make_index(tmp_path / "own")
    with served(settings_for(own)) as client:
        assert client.get("/api/search?q=zebra").json()["results"] == []
        with IndexWriter(own) as writer:
            writer.add(Document("z", {"title": "Zebra"}))
        client.site.service.searcher.indexes.refresh()  # type: ignore[attr-defined]
        found = client.get("/api/search?q=zebra").json()
        assert ([row["id"] for row in found["results"]], found["commit"]) == (["z"], 2)
    assert index != own


def test_options_of_a_pipelines_file_are_the_defaults_of_requests(tmp_path: Path) -> None:
    index = make_index(tmp_path / "papers")
    with served(settings_for(index)) as client:
        plain, asked = (
            client.get("/api/search", params={"q": "droplets", **options}).json()["results"]
            for options in ({}, {"k1": 0.1, "filter": "year>=2021"})
        )
    with served(settings_for(index, defaults={"k1": 0.1, "filter": "year>=2021"})) as client:
        assert client.get("/api/search", params={"q": "droplets"}).json()["results"] == asked
        assert client.post("/api/search", json={"q": "droplets"}).json()["results"] == asked
        page = client.get("/", params={"q": "droplets"}).text
        other = client.get("/api/search", params={"q": "droplets", "k1": 1.2, "filter": "year>=1900"}).json()["results"]
    assert other == plain
    assert ("p6" in page, "/p1" in page) == (True, False)


def test_results_are_sorted_by_a_column_or_by_title(client: TestClient) -> None:
    def order(options: str) -> list[str]:
        return [row["id"] for row in client.get(f"/api/search?q=droplets+physicians+train&{options}").json()["results"]]

    assert order("sort=year:desc") == ["p6", "p3", "p4", "p1", "p5"]
    assert order("sort=year:asc") == ["p4", "p1", "p3", "p6", "p5"]  # p5 has no year
    assert order("sort=year:asc&offset=1&k=2") == ["p1", "p3"]
    assert order("sort=title:asc&filter=year<2023") == ["p1", "p3", "p4"]
    assert order("sort=relevance") == order("")
    refused = client.get("/api/search?q=droplets&sort=colour").json()
    assert (refused["where"], refused["found"]) == ("sort", '"colour"')
    assert client.get("/api/search?q=droplets&sort=year&dense=1").status_code == 422


def test_facets_count_under_the_filters_of_other_columns(client: TestClient) -> None:
    query = "/api/search?q=droplets+soap+physicians&facets=source,year&total=1"
    found = client.get(f"{query}&filter=source%20in%20(PMC)%20and%20year%3C2023").json()
    assert found["total"] == 2
    # What WHO would add is counted, among the years that are asked for.
    assert found["facets"]["source"]["values"] == [{"value": "PMC", "count": 2}, {"value": "WHO", "count": 2}]
    assert sum(entry["count"] for entry in found["facets"]["year"]["values"]) == 3
    either = client.get(f"{query}&filter=source=PMC%20or%20year%3C2021").json()  # not of one column: it stays
    assert sum(entry["count"] for entry in either["facets"]["source"]["values"]) == either["total"] == 4


def test_dates_are_a_histogram_and_a_range(tmp_path: Path) -> None:
    with IndexWriter(tmp_path / "dated", metadata=["published"]) as writer:
        for month in range(1, 10):
            writer.add(Document(f"d{month}", {"text": "fever"}, {"published": f"2020-{month:02d}-15T08:00"}))
    with served(settings_for(tmp_path / "dated")) as client:
        found = client.get("/api/search?q=fever&facets=published&filter=published%3E=2020-05").json()
        facet = found["facets"]["published"]
        assert (facet["kind"], facet["unit"], facet["earliest"], facet["latest"]) == (
            "dates",
            "month",
            "2020-01-15",
            "2020-09-15",
        )
        assert facet["values"] == [{"value": f"2020-{month:02d}", "count": 1} for month in range(1, 10)]
        page = client.get("/?q=fever&from.published=2020-03-01&to.published=2020-05-15").text
        assert "3 documents" in page  # the 15th of May is in, with its time
        assert page.count('class="in"') == 3
        assert 'type="date" name="from.published" value="2020-03-01"' in page
        assert "expected a number, or a date" in client.get("/?q=fever&to.published=2020-02-31").text
        newest = client.get("/?q=fever&sort=published:desc").text
        assert newest.index('data-id="d9"') < newest.index('data-id="d1"')
        assert '<option value="published:desc" selected>published, newest first</option>' in newest
