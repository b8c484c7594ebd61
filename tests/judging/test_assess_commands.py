"""From a comparison to a study in two commands, and what there is to see of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_studies import grade_all, join
from typer.testing import CliRunner, Result

from rankwell.cli import app
from rankwell.core import RankwellError
from rankwell.judging import open_study


def rankwell(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankwell", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("queries.tsv").write_text("q1\twhat is a rank\nq2\twhat is a query\n")
    Path("corpus.jsonl").write_text("".join(f'{{"_id": "d{n}", "title": "T", "text": "Text {n}"}}\n' for n in range(9)))
    Path("runs/first.trec").write_text("q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0 r\nq2 Q0 d4 1 2.0 r\n")
    Path("runs/second.trec").write_text("q1 Q0 d7 1 3.0 r\nq1 Q0 d1 2 2.0 r\nq2 Q0 d3 1 2.0 r\n")
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d4 1\n")
    return tmp_path


def test_the_loop_from_a_comparison_to_a_study_is_two_commands() -> None:
    compared = rankwell(
        *("compare", "qrels.txt", "runs/first.trec", "runs/second.trec", "-m", "RR@10", "--quiet"),
        *("--assess-unjudged", "study/study.toml", "--queries", "queries.tsv", "--collection", "corpus.jsonl"),
    )
    assert compared.exit_code == 0, compared.stderr
    made = rankwell("assess", "create", "study/study.toml", "--quiet")
    assert made.exit_code == 0, made.stderr
    assert "study/study.db: 2 queries, 3 passages, 3 assessors a query" in made.stdout
    assert re.search(r"code, for one person and shown only now: (\w{4}-){3}\w{4}\n", made.stdout)
    with open_study("study/study.db") as study:
        assert {query.qid: query.passages for query in study.progress().queries} == {"q1": 2, "q2": 1}


def test_an_index_serves_as_the_collection() -> None:
    indexed = rankwell("index", "corpus.jsonl", "--out", "index", "--quiet")
    assert indexed.exit_code == 0, indexed.stderr
    Path("study.toml").write_text('queries = "queries.tsv"\n[pool]\nq1 = ["d3", "d8"]\n')
    made = rankwell("assess", "create", "study.toml", "--collection", "index", "-o", "other.db", "--quiet")
    assert made.exit_code == 0, made.stderr
    with open_study("other.db") as study:
        (name,) = join(study)
        study.judging.begin(name)
        task = study.judging.task(name)
    assert dict(task.passage) == {"title": "T", "text": f"Text {task.docno[1:]}"}


def test_status_invite_and_export_show_what_there_is() -> None:
    Path("study.toml").write_text(
        'title = "Mine"\nqueries = "queries.tsv"\ncollection = "corpus.jsonl"\nruns = ["runs/first.trec"]\n'
    )
    assert rankwell("assess", "create", "study.toml", "--quiet").exit_code == 0
    code = rankwell("assess", "invite", "study.db", "--places", "2").stdout.strip()
    with open_study("study.db") as study:
        name = study.invitations.redeem(code, "here").account.name
        study.people.consent(name)
        study.judging.begin(name)
        task = study.judging.task(name)
        study.judging.note(name, task.assignment, task.position, "=2+3, says Zoe")
        assert grade_all(study, name, 4) == 3
    by_query = rankwell("assess", "status", "study.db", "--output", "json")
    assert {row["query"]: row["grades"] for row in json.loads(by_query.stdout)} == {"q1": 2, "q2": 1}
    assert "Mine: 3 grades by 1 assessor; of 2 queries 2 are begun and 0 have 3 assessors" in by_query.stderr
    by_assessor = rankwell("assess", "status", "study.db", "--by", "assessor")
    assert name in by_assessor.stdout
    exported = rankwell("assess", "export", "study.db", "-o", "grades.tsv", "--notes", "notes.json")
    assert exported.exit_code == 0, exported.stderr
    assert "Zoe" not in Path("grades.tsv").read_text()
    assert [(row["assessor"], row["note"]) for row in json.loads(Path("notes.json").read_text())] == [
        (name, "=2+3, says Zoe")
    ]
    header, *rows = Path("grades.tsv").read_text().splitlines()
    assert header.split("\t")[:4] == ["qid", "docno", "assessor", "grade"]
    assert {tuple(row.split("\t")[2:4]) for row in rows} == {(name, "4")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "none.db"), "none.db: expected a study's database, found none"),
        (("create", "none.toml"), "none.toml: cannot be read: No such file"),
        (("export", "none.db", "-o", "x.tsv"), "none.db: expected a study's database"),
        (("status", "none.db", "--by", "moon"), "--by: expected one of query, assessor"),
    ],
)
def test_a_users_mistake_is_told(arguments: tuple[str, ...], message: str) -> None:
    error = rankwell("assess", *arguments).exception
    assert isinstance(error, RankwellError)
    assert message in str(error)


def test_it_is_told_without_a_traceback() -> None:
    done = typed("assess", "status", "none.db")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
