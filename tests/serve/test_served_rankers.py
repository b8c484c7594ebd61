"""Models of special kinds behind the API: PARADE is served, what compares documents is refused at the start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from serving_api import make_index, served, settings_for
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import RankwellError
from rankwell.serve.application import create_service
from rankwell.train import DuoSettings, ParadeSettings, train_duo, train_parade
from tiny_models import needs_torch, tiny_bert, topic_pairs

needs_torch()

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, a PARADE model and a duo model."""
    folder = tmp_path_factory.mktemp("rankers")
    make_index(folder / "index")
    model, pairs = str(tiny_bert(folder / "model")), topic_pairs(folder / "pairs", queries=2)
    parade = ParadeSettings(passages="4:2", max_tokens=24, steps=1, threads=1)
    train_parade(pairs, folder / "parade", model=model, settings=parade, validation=None, quiet=True)
    duo = DuoSettings(max_tokens=40, steps=1, threads=1, onnx=False)
    train_duo(pairs, folder / "duo", model=model, settings=duo, validation=None, quiet=True)
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


def test_duo_is_no_model_to_serve(place: Path) -> None:
    with pytest.raises(RankwellError, match=r"expected a model that scores one document at a time, found .*Duo"):
        create_service(settings_for(place / "index", rerank=str(place / "duo" / "model")))


def test_a_search_with_duo_explains_places_and_terms(place: Path) -> None:
    command = ["search", str(place / "index"), "droplets", "--rerank", str(place / "duo" / "model"), "--explain"]
    done = CliRunner().invoke(app, [*command, "--depth", "3", "--aggregate", "binary"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "p6" in done.stdout
