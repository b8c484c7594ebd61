"""The frontier from end to end: what it recommends is what the printed commands do."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from rankwell.apps.search.application import create_application
from rankwell.apps.search.service import create_service
from rankwell.apps.search.settings import ServeSettings
from rankwell.cli import app
from rankwell.collections import read_run
from rankwell.studies import advices, run_study, write_report
from rankwell.studies.run.runner import StudyFolder
from small_study import ALONE, begun
from tiny_models import needs_torch

needs_torch()

STUDY = """
title = "Quick and good"
seed = 3
[vary]
depth = [3, 5]
[models]
words = "labelled(negatives='judged:all') | linear(fewest=1, longest=1)"
[[collection]]
name = "Diseases"
source = "diseases"
held_back = 0.4
[[table]]
name = "frontier"
title = "Quality against latency"
kind = "frontier"
measures = ["nDCG@10"]
optional = ["missing"]
[table.rows]
"chance" = "bm25 | random(2)"
"words, top $depth" = "bm25(title=0.3, text=0.7) | cross-encoder(words, depth=$depth)"
"missing" = "bm25 | top 3 | cross-encoder(words, precision=int8, document='{nothing}')"
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = begun(tmp_path_factory.mktemp("frontier"), STUDY)
    settings = json.loads((folder.path / "run.json").read_text())
    (folder.path / "run.json").write_text(json.dumps({**settings, "latency": 60_000.0}))
    plan, _ = run_study(folder, ALONE, quiet=True)
    write_report(folder, plan)
    return folder


def test_every_row_has_quality_latency_and_size_and_one_is_recommended(done: StudyFolder) -> None:
    table = json.loads((done.path / "results.json").read_text())["tables"][0]
    rows = {row["row"]: row["figures"] for row in table["rows"]}
    assert list(rows) == ["chance", "words, top 3", "words, top 5", "control: re-ranks nothing"]
    control = rows.pop("control: re-ranks nothing")
    assert list(control) == ["nDCG@10"]  # it is not timed, and never recommended
    assert all(figures["p50 ms"]["value"] <= figures["p95 ms"]["value"] for figures in rows.values())
    assert rows["words, top 3"]["MB"]["value"] > 0
    best = max(rows, key=lambda name: rows[name]["nDCG@10"]["value"])
    assert advices(done.path)[0].startswith("Within 60000 ms: words, top")
    assert best.startswith("words")
    assert any("left out on Diseases: missing" in note for note in table["notes"])


def test_the_printed_command_searches_as_the_study_did(done: StudyFolder) -> None:
    said = advices(done.path)[0]
    search = shlex.split(said.partition("index: ")[2].partition("; as a server: ")[0])
    words, ranking = _a_query(done, said.partition("ms: ")[2].partition(" (")[0])
    given = [words if word == "WORDS" else word for word in search[1:]]
    found = CliRunner().invoke(app, [*given, "-k", str(len(ranking)), "--json"])
    assert found.exit_code == 0, found.output
    assert [hit["id"] for hit in json.loads(found.stdout)] == ranking


@pytest.mark.slow
def test_the_printed_server_answers_as_the_study_did(done: StudyFolder, tmp_path: Path) -> None:
    said = advices(done.path)[0]
    serve = shlex.split(said.partition("; as a server: ")[2].partition("; asked with ")[0])
    assert (serve[:2], serve[3]) == (["rankwell", "serve"], "--rerank")
    words, ranking = _a_query(done, said.partition("ms: ")[2].partition(" (")[0])
    request = said.partition("; asked with ")[2].replace("WORDS", quote(words))
    service = create_service(ServeSettings(serve[2], rerank=serve[4], keys=tmp_path / "keys.json"))
    with TestClient(create_application(service), base_url="http://127.0.0.1") as client:
        answer = client.get(f"{request}&k={len(ranking)}")
        assert [hit["id"] for hit in answer.json()["results"]] == ranking


def _a_query(done: StudyFolder, name: str) -> tuple[str, list[str]]:
    """The words of a measured query, and what the study found for it."""
    row = next(row for row in done.plan().rows if row.row.name == name)
    found = read_run(done.store.path(row.run.key) / "run.trec")
    index = done.store.path(done.plan().cells[row.run.key].parents[0])
    queries = [json.loads(line) for line in (index / "queries.jsonl").read_text().splitlines()]
    query = next(query for query in queries if query["_id"] in found)
    return query["text"], [docno for docno, _ in found[query["_id"]]]
