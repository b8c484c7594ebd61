"""`rankwell encode`, as users type it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import rankwell
from rankwell.index import Index
from rankwell.vectors import Embeddings, embeddings_of

PAPERS = """id,title,abstract
p1,Masks and droplets,"Masks stop large droplets, and some small ones."
p2,Hand washing,Soap destroys the envelope of the virus.
p3,Opening windows,Fresh air carries droplets away.
"""


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(PAPERS)
    assert rankwell("index", "papers.csv", "--out", "index", "--quiet").returncode == 0


def test_an_index_is_encoded_and_later_only_what_is_new(models: Path) -> None:
    model = str(models / "minilm-l6")
    done = rankwell("encode", "index", "--model", model)
    assert done.returncode == 0, done.stderr
    assert "index/vectors/minilm-l6-mean: 3 documents have vectors of 384 numbers" in done.stderr
    assert Embeddings.open(Index.open("index")).connected
    Path("more.csv").write_text("id,title,abstract\np4,Distance,Droplets fall within two metres.\n")
    assert rankwell("index", "more.csv", "--out", "index", "--append", "--quiet").returncode == 0
    done = rankwell("encode", "index", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    embeddings = Embeddings.open(Index.open("index"))
    assert (embeddings.count, embeddings.stale, embeddings.connected) == (4, 0, True)
    done = rankwell("encode", "index", "--model", model, "--field", "title", "--no-graph", "--name", "titles", "-q")
    assert done.returncode == 0, done.stderr
    assert [(there.name, there.connected) for there in embeddings_of(Index.open("index"))] == [
        ("minilm-l6-mean", True),
        ("titles", False),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["index"], "index has no vectors: encode it first with `rankwell encode index --model bge-small-en`"),
        (["index", "--model", "nothing"], "nothing: expected a folder with a model"),
        (["nowhere", "--model", "x"], "nowhere: expected an index, found nothing there"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], message: str) -> None:
    done = rankwell("encode", *words)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_field_is_named(models: Path) -> None:
    done = rankwell("encode", "index", "--model", str(models / "minilm-l6"), "--field", "titel")
    assert done.returncode == 1
    assert 'document: expected fields of the documents (title, abstract), found "{titel}"' in done.stderr


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(models: Path) -> None:
    # The first portion is quick to encode, and the second is not.
    lengths = [1] * 1024 + [20] * 2000
    lines = [f"n{number},word,{f'sentence number {number} about it ' * many}" for number, many in enumerate(lengths)]
    Path("many.csv").write_text("id,title,abstract\n" + "\n".join(lines) + "\n")
    assert rankwell("index", "many.csv", "--out", "many", "--quiet").returncode == 0
    command = [sys.executable, "-m", "rankwell", "encode", "many", "--model", str(models / "minilm-l6")]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    there = Path("many/vectors/minilm-l6-mean")
    while not list(there.glob("*.vectors")):
        assert child.poll() is None
        time.sleep(0.1)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 3
    assert "what was encoded so far is kept: the same command goes on from there" in said
    assert "Traceback" not in said
    embeddings = Embeddings.open(Index.open("many"))
    assert embeddings.count >= 1024
    assert embeddings.count + embeddings.stale == len(lines)
