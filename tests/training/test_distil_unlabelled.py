"""Pairs without labels: queries and what a ranker finds for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.models.learning.pairs import open_pairs
from rankwell.training import Negatives
from rankwell.training.pairs import Unlabelled

DOCUMENTS = {name: Document(name, {"text": f"text of {name}"}) for name in ("d1", "d2", "d3", "d4")}
QUERIES = Queries.of({"q1": "fever", "q2": "cough", "q3": " "})
RUN = Run.from_dict({"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d2": 1.0, "gone": 0.5}})


def test_every_query_has_the_top_of_its_ranking() -> None:
    settings = Unlabelled(documents=Negatives.parse("hard:all", depth=2))
    made = list(settings.pairs(DOCUMENTS, QUERIES, RUN))
    assert [(one.pair.query_id, one.pair.document_id) for one in made] == [("q1", "d1"), ("q1", "d2"), ("q2", "d2")]
    assert {one.kind for one in made} == {"unlabelled"}
    assert made[0].pair.document == "text of d1"
    assert dict(settings.skipped) == {"queries without a text": 1}


def test_what_is_drawn_for_a_query_does_not_depend_on_others() -> None:
    settings = Unlabelled(documents=Negatives.parse("hard:1,random:1"), seed=3)
    whole = [one.pair for one in settings.pairs(DOCUMENTS, QUERIES, RUN)]
    alone = [one.pair for one in settings.pairs(DOCUMENTS, QUERIES.only(["q2"]), RUN)]
    assert [pair for pair in whole if pair.query_id == "q2"] == alone
    assert len(alone) == 2


def test_documents_of_a_ranking_need_one() -> None:
    with pytest.raises(RankwellError, match="expected a run to take documents from, found none"):
        list(Unlabelled().pairs(DOCUMENTS, QUERIES, None))


def test_nothing_is_judged_here() -> None:
    with pytest.raises(ParameterError, match="expected hard and random ones, without judgments"):
        Unlabelled(documents=Negatives.parse("judged:1"))


def test_the_command_needs_queries_and_documents_but_no_judgments(tmp_path: Path) -> None:
    rows = [{"_id": f"d{number}", "title": "", "text": f"fever and {number}"} for number in range(5)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.tsv").write_text("q1\tfever\nq2\tand fever\n")
    command = ["train", "pairs", str(tmp_path / "corpus.jsonl"), "--queries", str(tmp_path / "queries.tsv")]
    command += ["--unlabelled", "--negatives", "hard:all", "--depth", "3", "--out", str(tmp_path / "pairs")]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0
    assert "6 pairs without labels of 2 queries" in done.stderr
    pairs = open_pairs(tmp_path / "pairs")
    assert pairs.record["made"]["kind"] == "unlabelled"
    assert set(pairs.column("kind")) == {"unlabelled"}
    assert len(pairs) == 6
