"""`rankwell rerank` as users type it, with a real model."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from commands import rankwell
from needs import require
from rankwell.cli import app
from rankwell.collections import read_run
from rankwell.core import RankwellError
from waiting import wait_until

PAPERS = """id,title,abstract
p1,Masks and droplets,"Masks stop large droplets, and some small ones."
p2,Hand washing,Soap destroys the envelope of the virus.
p3,Opening windows,Fresh air carries droplets away.
"""
RUN = "q1 Q0 p2 1 3.0 first\nq1 Q0 p3 2 2.0 first\nq1 Q0 p1 3 1.0 first\n"
WITHOUT_TORCH = """
import sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "sentence_transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Wall())
from rankwell.cli import main
main()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    Path("papers.csv").write_text(PAPERS)
    Path("queries.tsv").write_text("q1\tdo masks help against droplets\n")
    Path("first.trec").write_text(RUN)


@pytest.fixture
def model(models: Path) -> str:
    found = models / "ms-marco-minilm-l12"
    require("models", there=found.is_dir(), how="run `make setup`, or `rankwell models add ms-marco-minilm-l12`")
    return str(found)


def rerank(model: str, *words: str, out: str = "new.trec") -> Result:
    """In this process, where the model is loaded once."""
    command = ["rerank", "first.trec", "--queries", "queries.tsv", "--model", model, "-o", out, *words]
    return CliRunner().invoke(app, command)


def order(file: str) -> list[str]:
    return [str(docno) for docno in read_run(file)["q1"].docnos]


def test_a_run_and_a_table_are_enough(model: str) -> None:
    done = rerank(model, "--documents", "papers.csv", "--document", "{title} {abstract}", "--tag", "bert")
    assert done.exit_code == 0, done.stderr
    assert order("new.trec") == ["p1", "p3", "p2"]
    assert read_run("new.trec").tag == "bert"
    assert "new.trec: 1 queries, 3 documents, 3 pairs, " in done.stderr
    again = rerank(model, "--documents", "papers.csv", out="again.trec")  # the same texts, by default
    assert "3 pairs (3 scored earlier)" in again.stderr
    direct = rerank(model, "--documents", "papers.csv", "--no-cache", "--quiet", out="direct.trec")
    assert direct.stderr == ""
    assert Path("again.trec").read_bytes() == Path("direct.trec").read_bytes()


@pytest.mark.slow
def test_an_environment_without_torch_indexes_searches_and_re_ranks(model: str) -> None:
    for words in (
        ("index", "papers.csv", "--out", "index", "--quiet"),
        ("search", "index", "droplets"),
        ("rank", "index", "queries.tsv", "-o", "first.trec", "--quiet"),
        (
            *("rerank", "first.trec", "--index", "index", "--queries", "queries.tsv", "--model", model),
            *("-o", "new.trec", "-k", "2", "--passages", "6:2", "--aggregate", "max", "--interpolate", "0.5"),
            *("--precision", "int8", "--max-tokens", "64", "--query-tokens", "16", "--threads", "1"),
        ),
    ):
        command = [sys.executable, "-c", WITHOUT_TORCH, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert order("new.trec")[0] == "p1"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--documents", "papers.csv", "--passages", "50:50"], "passages: expected an overlap from 0 to 49"),
        (["--documents", "papers.csv", "--interpolate", "2"], "interpolate: expected a number from 0 to 1, found 2.0"),
        (["--documents", "papers.csv", "--document", "{titel}"], 'documents (title, abstract), found "{titel}"'),
        (["--documents", "first.trec"], "first.trec"),
        (["--documents", "papers.csv", "--model", "no-such-model"], "no-such-model: expected a folder with a model"),
        (["--documents", "papers.csv", "--precision", "int4"], 'precision: expected one of fp32, int8, found "int4"'),
        (["--documents", "papers.csv", "--query-field", "question"], "query q1: expected a text named 'question'"),
        ([], 'documents: expected one of --index and --documents, found "neither"'),
    ],
)  # fmt: skip
def test_a_users_mistake_is_told_before_anything_is_written(model: str, words: list[str], expected: str) -> None:
    found = rerank(model, *words).exception
    assert isinstance(found, RankwellError)
    assert expected in str(found)
    assert not Path("new.trec").exists()


def test_documents_that_are_not_there_stop_it_or_stay_below(model: str) -> None:
    Path("first.trec").write_text(RUN + "q1 Q0 p9 4 0.5 first\n")
    words = ("rerank", "first.trec", "--queries", "queries.tsv", "--model", model, "--documents", "papers.csv", "-q")
    done = rankwell(*words, "-o", "new.trec")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "rankwell: documents: expected the texts of all documents to re-rank, found none for 1 of 4: p9"
    ]
    done = rankwell(*words, "-o", "new.trec", "--skip-missing")
    assert done.returncode == 0
    assert order("new.trec") == ["p1", "p3", "p2", "p9"]
    assert done.stderr.splitlines() == ["note: 1 documents were not found, and stay below the others: p9"]


@pytest.mark.slow
def test_ctrl_c_keeps_the_scores_so_far_and_the_same_command_goes_on(model: str) -> None:
    count = 600
    rows = [f"d{place},{'droplets in the air and on hands ' * (1 + place % 7)} {place}" for place in range(count)]
    Path("papers.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    Path("first.trec").write_text("".join(f"q1 Q0 d{place} {place + 1} {-place} x\n" for place in range(count)))
    words = ["--documents", "papers.csv", "--queries", "queries.tsv", "--model", model, "-k", str(count)]
    command = [sys.executable, "-m", "rankwell", "rerank", "first.trec", *words, "-o", "new.trec"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: _has_scores(Path(os.environ["RANKWELL_HOME"]) / "scores"), "a score is kept")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "note: the scores so far are kept: the same command goes on from there" in said
    assert not Path("new.trec").exists()
    done = rankwell("rerank", "first.trec", *words, "-o", "new.trec")
    assert "scored earlier)" in done.stderr
    rankwell("rerank", "first.trec", *words, "-o", "direct.trec", "--no-cache")
    assert Path("new.trec").read_bytes() == Path("direct.trec").read_bytes()


def _has_scores(folder: Path) -> bool:
    for file in folder.glob("*.sqlite3"):
        connection = sqlite3.connect(file, timeout=10)
        try:
            return bool(connection.execute("SELECT count(*) FROM scores").fetchone()[0])
        except sqlite3.OperationalError:
            pass  # not made yet
        finally:
            connection.close()
    return False
