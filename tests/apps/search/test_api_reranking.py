"""Both stages over HTTP, with real models: the same ranking as the command's, streamed, partial where time is short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving_api import make_index, served, settings_for
from starlette.testclient import TestClient
from typer.testing import CliRunner

from needs import require
from rankwell.apps.search.rerank_queue import RerankQueue
from rankwell.cli import app
from rankwell.core import RankwellError
from rankwell.index import Index
from rankwell.models.base import load_text_encoder
from rankwell.vectors import embed
from waiting import wait_until

BI_ENCODER, CROSS_ENCODER = "minilm-l3", "ms-marco-minilm-l12"
QUERY = "do masks help against droplets"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"depth": 2},
    {"document": "{title}"},
    {"passages": "3:1", "aggregate": "max"},
    {"interpolate": 0.5},
    {"hybrid": True},
    {"dense": True, "k": 3},
    {"match": "ann:2&or"},
]


@pytest.fixture(scope="module")
def index(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in (BI_ENCODER, CROSS_ENCODER):
        require("models", there=(models / name).is_dir(), how=f"run `make setup`, or `rankwell models add {name}`")
    folder = make_index(tmp_path_factory.mktemp("reranking") / "papers")
    embed(Index.open(folder), load_text_encoder(str(models / BI_ENCODER)), name="meaning")
    return folder


@pytest.fixture
def fresh_client(index: Path, use_models: None) -> Iterator[TestClient]:  # noqa: ARG001 -- a home with models
    """Of a server that has scored nothing yet."""
    with served(settings_for(index, rerank=CROSS_ENCODER)) as client:
        yield client


@pytest.fixture(scope="module")
def client(index: Path, models: Path, shared_home: Path) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKWELL_HOME", str(shared_home))
        with served(settings_for(index, rerank=str(models / CROSS_ENCODER))) as client:
            yield client


def words_of(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        flag = "-k" if name == "k" else "--" + name
        words += [flag] if value is True else [flag, str(value)]
    return words


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


@pytest.mark.usefixtures("use_models")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_re_ranked_search_gives_the_ranking_of_the_command(
    index: Path, client: TestClient, options: dict[str, Any]
) -> None:
    words = ["search", str(index), QUERY, "--rerank", CROSS_ENCODER, *words_of(options), "--json"]
    expected = json.loads(CliRunner().invoke(app, words).stdout)
    found = client.get("/api/search", params={"q": QUERY, **options}).json()
    assert (found["stage"], found["partial"]) == ("reranked", False)
    assert ids(found["results"]) == ids(expected)
    assert [row["score"] for row in found["results"]] == pytest.approx([row["score"] for row in expected], abs=1e-5)


@pytest.mark.usefixtures("use_models")
@pytest.mark.parametrize("options", [{"dense": True}, {"hybrid": True}, {"dense": True, "vectors": "meaning"}], ids=str)
def test_searching_by_meaning_gives_the_ranking_of_the_command(
    index: Path, client: TestClient, options: dict[str, Any]
) -> None:
    expected = json.loads(CliRunner().invoke(app, ["search", str(index), QUERY, *words_of(options), "--json"]).stdout)
    found = client.get("/api/search", params={"q": QUERY, "rerank": "none", **options}).json()
    assert ids(found["results"]) == ids(expected) != []
    assert found["stage"] == "first"


def test_results_tell_how_far_they_moved(client: TestClient) -> None:
    first = client.get("/api/search", params={"q": QUERY, "rerank": "none"}).json()["results"]
    again = client.get("/api/search", params={"q": QUERY}).json()["results"]
    places = {row["id"]: row["rank"] for row in first}
    assert all(row["first_rank"] == places[row["id"]] for row in again)
    assert all(row["moved"] == row["first_rank"] - row["rank"] for row in again)
    assert any(row["moved"] for row in again)


def test_the_explanation_has_every_stage_and_what_the_model_read(client: TestClient) -> None:
    found = client.get("/api/search", params={"q": QUERY, "explain": True, "passages": "3:1", "aggregate": "max"})
    for row in found.json()["results"]:
        assert [place["stage"] for place in row["explain"]["stages"]] == ["BM25", CROSS_ENCODER]
        assert max(part["probability"] for part in row["explain"]["passages"]) == pytest.approx(row["score"], abs=1e-5)


def test_a_stream_has_the_first_stage_and_then_the_model_s(client: TestClient) -> None:
    events = client.get("/api/search/stream", params={"q": QUERY}).text.strip().split("\n\n")
    names = [event.split("\n")[0] for event in events]
    assert names == ["event: first", "event: reranked", "event: done"]
    first, again = (json.loads(event.split("data: ", 1)[1]) for event in events[:2])
    assert (first["stage"], again["stage"]) == ("first", "reranked")
    assert sorted(ids(first["results"])) == sorted(ids(again["results"]))


def test_a_model_that_is_late_leaves_the_first_stage_s_results(
    fresh_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = fresh_client
    searcher = client.site.service.searcher  # type: ignore[attr-defined]
    first = client.get("/api/search", params={"q": QUERY, "rerank": "none"}).json()
    begin = searcher.begin_rerank
    monkeypatch.setattr(searcher, "begin_rerank", lambda state, _: begin(state, 0.0001))
    late = client.get("/api/search", params={"q": QUERY}).json()
    assert (late["stage"], late["partial"]) == ("first", True)
    assert ids(late["results"]) == ids(first["results"])
    assert "not done in time" in late["warnings"][0]
    streamed = client.get("/api/search/stream", params={"q": QUERY}).text.strip().split("\n\n")
    assert json.loads(streamed[1].split("data: ")[1])["partial"]


def test_a_full_queue_is_said_with_when_to_come_back(fresh_client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client = fresh_client
    is_ready(client)
    queue: RerankQueue = client.site.service.searcher.queue  # type: ignore[attr-defined]
    monkeypatch.setattr(queue, "most_waiting", 0)
    refused = client.get("/api/search", params={"q": QUERY})
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    events = client.get("/api/search/stream", params={"q": QUERY}).text.strip().split("\n\n")
    assert [event.split("\n")[0] for event in events] == ["event: first", "event: error"]
    assert set(json.loads(events[1].split("data: ")[1])) == {"error", "expected", "found", "where"}


def test_models_are_named_by_the_operator_alone(client: TestClient, models: Path) -> None:
    assert client.get("/api/index").json()["rerankers"] == [CROSS_ENCODER]
    for name in (BI_ENCODER, str(models / CROSS_ENCODER), "cross-encoder/ms-marco-MiniLM-L6-v2"):
        refused = client.get("/api/search", params={"q": QUERY, "rerank": name})
        assert (refused.status_code, refused.json()["expected"]) == (422, f"one of {CROSS_ENCODER}")


def test_a_folder_goes_by_its_last_name_and_its_path_is_told_to_nobody(index: Path, models: Path) -> None:
    with served(settings_for(index, rerank=str(models / CROSS_ENCODER))) as client:
        info = client.get("/api/index")
        assert info.json()["default_reranker"] == CROSS_ENCODER
        assert str(models) not in info.text
        assert client.get("/api/search", params={"q": QUERY, "rerank": CROSS_ENCODER}).json()["stage"] == "reranked"


def test_ready_means_that_models_are_loaded(fresh_client: TestClient) -> None:
    is_ready(fresh_client)
    assert fresh_client.get("/ready").json() == {"status": "ready"}


def test_a_model_that_is_not_here_is_said_before_anything_listens(index: Path) -> None:
    with pytest.raises(RankwellError, match="rankwell models add"), served(settings_for(index, rerank="minilm-l6")):
        pass


def test_a_model_that_cannot_rank_is_never_ready_and_says_why(index: Path, models: Path) -> None:
    with served(settings_for(index, rerank=str(models / BI_ENCODER))) as client:
        wait_until(lambda: "being loaded" not in client.get("/ready").text, "the model is loaded", pause=0.05)
        refused = client.get("/ready")
        assert refused.status_code == 503
        assert str(models) not in refused.text
        assert client.get("/api/search", params={"q": QUERY, "rerank": "none"}).status_code == 200


def is_ready(client: TestClient) -> None:
    wait_until(lambda: client.get("/ready").status_code == 200, "the server is ready", pause=0.05)
