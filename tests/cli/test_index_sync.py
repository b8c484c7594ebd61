"""`rankwell index --sync` and `--watch` as users type them."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import rankwell
from rankwell.index import Index
from rankwell.vectors import Embeddings
from waiting import wait_until


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("notes")
    folder.mkdir()
    (folder / "a.txt").write_text("apples and pears")
    (folder / "b.txt").write_text("bears in the wood")
    return folder


def texts() -> dict[str, str]:
    return {docno: document.text() for docno, document in Index.open("index").documents.items()}


def test_a_sync_says_what_was_done(notes: Path) -> None:
    assert rankwell("index", "notes", "--out", "index", "--sync").returncode == 0
    (notes / "a.txt").unlink()
    (notes / "c.txt").write_text("cats")
    done = rankwell("index", "notes", "--out", "index", "--sync")
    assert (done.stdout, done.stderr) == ("1 added, 0 replaced, 1 deleted, 1 unchanged\n", "index: 2 documents\n")


def test_a_table_is_shown_the_first_time_and_read_alike_afterwards() -> None:
    Path("t.csv").write_text("ticket,title,text\nT1,Lamp,The lamp is broken\nT2,Chair,The chair wobbles\n")
    assert "comma-separated" in rankwell("index", "t.csv", "--out", "index", "--sync").stderr
    Path("t.csv").write_text("ticket,title\nT1,Lamp\n")
    done = rankwell("index", "t.csv", "--out", "index", "--sync")
    assert done.returncode == 1
    assert "expected the columns of t.csv, found no text but ticket, title" in done.stderr
    assert len(texts()) == 2


def test_an_empty_source_names_the_option_that_deletes_all(notes: Path) -> None:
    rankwell("index", "notes", "--out", "index", "--sync")
    for file in notes.iterdir():
        file.unlink()
    done = rankwell("index", "notes", "--out", "index", "--sync")
    assert (done.returncode, len(texts())) == (1, 2)
    assert "2 documents came from here, and --allow-empty deletes them" in done.stderr
    assert rankwell("index", "notes", "--out", "index", "--sync", "--allow-empty").returncode == 0
    assert texts() == {}


def test_append_and_sync_together_are_refused() -> None:
    done = rankwell("index", "notes", "--out", "index", "--sync", "--append")
    assert done.stderr == 'rankwell: --append: expected either --append or --sync, found "both"\n'


def test_a_bad_file_is_an_error_or_is_left_as_it_was(notes: Path) -> None:
    rankwell("index", "notes", "--out", "index", "--sync")
    (notes / "a.txt").write_bytes(b"\x1f\x8bnothing")
    assert rankwell("index", "notes", "--out", "index", "--sync").returncode == 1
    done = rankwell("index", "notes", "--out", "index", "--sync", "--skip-bad")
    assert "a.txt" in done.stderr
    assert done.stdout == "0 added, 0 replaced, 0 deleted, 2 unchanged\n"


def test_vectors_follow(models: Path, notes: Path) -> None:
    rankwell("index", "notes", "--out", "index", "--sync")
    assert rankwell("encode", "index", "--model", models / "minilm-l6", "--no-graph", "-q").returncode == 0
    (notes / "c.txt").write_text("cats")
    (notes / "a.txt").write_text("avocados")
    (notes / "b.txt").unlink()
    done = rankwell("index", "notes", "--out", "index", "--sync", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    vectors = Embeddings.open(Index.open("index"))
    assert (vectors.count, vectors.stale, vectors.connected) == (2, 0, False)


def test_watching_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name == "watchfiles":
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    done = rankwell("index", "notes", "--out", "index", "--watch")
    assert done.returncode == 1
    assert "pip install 'rankwell[watch]'" in done.stderr


@pytest.mark.slow
def test_a_watched_folder_is_followed_until_ctrl_c(notes: Path) -> None:
    pytest.importorskip("watchfiles")
    said = Path("said.txt")
    with said.open("wb") as file:
        command = [sys.executable, "-m", "rankwell", "index", "notes", "--out", "notes/index", "--watch"]
        process = subprocess.Popen(command, stdout=file, stderr=file)

    def has(text: str) -> None:
        wait_until(lambda: text in said.read_text() or process.poll() is not None, said.read_text)
        assert process.poll() is None, said.read_text()

    try:
        has("watching notes")
        (notes / "c.txt").write_text("cats")
        has("1 added, 0 replaced, 0 deleted, 2 unchanged")
        (notes / "a.txt").write_bytes(b"\x1f\x8bhalf")  # half-written, or bad
        (notes / "b.txt").write_text("bees")
        has("left as it was: notes/a.txt:1: expected a whole gzip file")
        has("0 added, 1 replaced, 0 deleted, 2 unchanged")
        (notes / "part").write_text("avocados")
        os.replace(notes / "part", notes / "a.txt")  # noqa: PTH105 -- as editors save
        wait_until(lambda: said.read_text().count("0 added, 1 replaced") > 1, said.read_text)
        for file in ("a.txt", "b.txt", "c.txt"):
            (notes / file).unlink()
        has("not synced: notes: expected documents, found none")
        (notes / "d.txt").write_text("dogs")
        has("1 added, 0 replaced, 3 deleted, 0 unchanged")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 3
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in said.read_text()
    assert said.read_text().rstrip().endswith("run the same command again")
    index = Index.open("notes/index")
    assert {docno: document.text() for docno, document in index.documents.items()} == {"d.txt": "dogs"}


@pytest.mark.slow
def test_a_watched_table_that_is_half_written_is_tried_again() -> None:
    pytest.importorskip("watchfiles")
    table, said = Path("t.csv"), Path("said.txt")
    table.write_text("ticket,title,text\nT1,Lamp,The lamp is broken\n")
    with said.open("wb") as file:
        command = [sys.executable, "-m", "rankwell", "index", "t.csv", "--out", "index", "--watch"]
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        wait_until(lambda: "watching" in said.read_text(), said.read_text)
        table.write_text("ticket,title,text\nT1,Lamp,The lamp is broken\nT2,Cha")
        wait_until(lambda: "not synced: t.csv:3: expected 3 columns" in said.read_text(), said.read_text)
        assert sorted(texts()) == ["T1"]
        with table.open("a") as file:
            file.write("ir,The chair wobbles\n")
        wait_until(lambda: "1 added, 0 replaced, 0 deleted, 1 unchanged" in said.read_text(), said.read_text)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 3
    finally:
        process.kill()
        process.wait()
