"""Models of special kinds behind the API rank as they do in the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from serving_api import make_index, served, settings_for
from typer.testing import CliRunner

from architecture_pairs import review_pairs
from rankwell.apps.search.requests import parse_values
from rankwell.cli import app
from rankwell.models.duo.training import DuoSettings, train_duo
from rankwell.models.parade.training import ParadeSettings, train_parade
from rankwell.models.review_rankers.training import ArchitectureSettings, train_architecture
from tiny_models import needs_torch, tiny_bert, topic_pairs

needs_torch()

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, a PARADE model, a duo model, and one that reads a relevant abstract too."""
    folder = tmp_path_factory.mktemp("rankers")
    make_index(folder / "index")
    model, pairs = str(tiny_bert(folder / "model")), topic_pairs(folder / "pairs", queries=2)
    parade = ParadeSettings(passages="4:2", max_tokens=24, steps=1, threads=1)
    train_parade(pairs, folder / "parade", model=model, settings=parade, validation=None, quiet=True)
    duo = DuoSettings(max_tokens=40, steps=1, threads=1, onnx=False)
    train_duo(pairs, folder / "duo", model=model, settings=duo, validation=None, quiet=True)
    dual = ArchitectureSettings(kind="dual-interaction", max_tokens=40, steps=1, threads=1)
    parts = review_pairs(folder / "parts", queries=2)
    train_architecture(parts, folder / "dual", model=model, settings=dual, validation=None, quiet=True)
    return folder


def test_parade_ranks_over_http_as_it_does_in_the_command(place: Path) -> None:
    model = str(place / "parade" / "model")
    command = ["search", str(place / "index"), "droplets", "--rerank", model, "--explain", "--json"]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    ours = [(row["id"], row["score"]) for row in json.loads(done.stdout)]
    assert "\x1e" not in done.stdout
    with served(settings_for(place / "index", rerank=model, timeout=60.0)) as client:
        found = client.get("/api/search", params={"q": "droplets"}).json()
        wrong = client.get("/api/search", params={"q": "droplets", "passages": "9:3"})
    assert found.get("stage") == "reranked", found
    assert [row["id"] for row in found["results"]] == [docno for docno, _ in ours]
    assert [row["score"] for row in found["results"]] == pytest.approx([score for _, score in ours], abs=1e-5)
    assert wrong.status_code == 422
    assert "is a PARADE model with its own" in wrong.text


def commanded(place: Path, model: str, *others: str) -> list[tuple[str, float]]:
    """What the command finds."""
    command = ["search", str(place / "index"), "droplets", "--rerank", model, "--json", *others]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return [(row["id"], row["score"]) for row in json.loads(done.stdout)]


def test_duo_compares_documents_over_http_as_it_does_in_the_command(place: Path) -> None:
    model = str(place / "duo" / "model")
    with served(settings_for(place / "index", rerank=model, timeout=60.0)) as client:
        found = client.get("/api/search", params={"q": "droplets", "explain": True}).json()
        few = client.get("/api/search", params={"q": "droplets", "depth": 2, "interpolate": 0.5}).json()
        page = client.get("/", params={"q": "droplets"})
    assert found.get("stage") == "reranked", found
    assert [(row["id"], row["score"]) for row in found["results"]] == commanded(place, model)
    assert all("passages" not in row["explain"] for row in found["results"])
    assert [(row["id"], row["score"]) for row in few["results"]] == commanded(
        place, model, "--depth", "2", "--interpolate", "0.5"
    )
    assert page.status_code == 200
    settings = settings_for(place / "index", rerank=model)
    assert [parse_values(asked, settings).depth for asked in ({}, {"depth": 30}, {"rerank": "none"})] == [20, 30, 100]
    shallow = settings_for(place / "index", rerank=model, max_depth=5)
    assert parse_values({}, shallow).depth == 5


def test_a_model_that_reads_an_example_takes_that_of_the_request(place: Path) -> None:
    model = str(place / "dual" / "model")
    example = "masks stop droplets and fever"
    with served(settings_for(place / "index", rerank=model, timeout=60.0)) as client:
        found = client.get("/api/search", params={"q": "droplets", "relevant": example}).json()
        without = client.get("/api/search", params={"q": "droplets"}).json()
        wrong = client.get("/api/search", params={"q": "droplets", "relevant": "x" * 30_000})
    assert found.get("stage") == "reranked", found
    assert found["warnings"] == []
    assert [(row["id"], row["score"]) for row in found["results"]] == commanded(place, model, "--relevant", example)
    assert any("no known relevant abstract" in note for note in without["warnings"])
    assert [(row["id"], row["score"]) for row in without["results"]] == commanded(place, model)
    assert {row["score"] for row in found["results"]} != {row["score"] for row in without["results"]}
    assert wrong.status_code == 422


def test_an_example_for_words_is_a_text_and_no_file_of_judgments(place: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("q1 0 p1 1\n")
    command = ["search", str(place / "index"), "droplets", "--rerank", str(place / "dual" / "model")]
    done = CliRunner().invoke(app, [*command, "--relevant", str(tmp_path / "qrels.tsv")])
    assert "expected the text of a relevant abstract, found judgments in" in str(done.exception)


def test_a_search_with_duo_explains_places_and_terms(place: Path) -> None:
    command = ["search", str(place / "index"), "droplets", "--rerank", str(place / "duo" / "model"), "--explain"]
    done = CliRunner().invoke(app, [*command, "--depth", "3", "--aggregate", "binary"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "p6" in done.stdout
