"""An index is kept in step with its source, by content; what came another way stays; a kill at any moment is mended."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rankwell.collections import ColumnChoice, Problems, Reading, read_documents
from rankwell.core import Document, RankwellError
from rankwell.index import Index, IndexWriter, SyncOptions, sync, syncing
from rankwell.index.sources import FileMark, read_sources

BAD = b"\x1f\x8bnothing"  # a gzip file that is none


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    for name, text in {"a.txt": "apples", "b.txt": "bears", "deep/c.md": "cats"}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "index"


def texts(out: Path) -> dict[str, str]:
    return {docno: document.text() for docno, document in Index.open(out).documents.items()}


def test_files_are_added_replaced_and_deleted_by_content(notes: Path, out: Path) -> None:
    assert str(sync(notes, out)) == "3 added, 0 replaced, 0 deleted, 0 unchanged"
    (notes / "a.txt").write_text("pears")
    (notes / "b.txt").unlink()
    (notes / "d.txt").write_text("dogs")
    os.utime(notes / "deep" / "c.md", (1, 1))
    assert str(sync(notes, out)) == "1 added, 1 replaced, 1 deleted, 1 unchanged"
    assert texts(out) == {"a.txt": "pears", "d.txt": "dogs", "deep/c.md": "cats"}


def test_nothing_changed_means_no_commit(notes: Path, out: Path) -> None:
    sync(notes, out)
    before = Index.open(out).commit
    assert str(sync(notes, out)) == "0 added, 0 replaced, 0 deleted, 3 unchanged"
    assert Index.open(out).commit == before


def test_an_unchanged_file_is_not_read_again(notes: Path, out: Path) -> None:
    sync(notes, out)
    asked: list[bool] = []
    work = syncing._Sync(notes, out, SyncOptions(), Reading(), Index.open(out))
    wanted = work._wanted
    work.reading = Reading(wanted=lambda file: asked.append(wanted(file)) or asked[-1])
    assert list(work.changed()) == []
    assert asked == [False, False, False]


def test_other_options_read_every_file_again(tmp_path: Path, out: Path) -> None:
    (tmp_path / "t.csv").write_text("id,title,text\n1,Lamp,broken lamp here\n2,Chair,it wobbles a lot\n")
    sync(tmp_path / "t.csv", out)
    changed = sync(tmp_path / "t.csv", out, SyncOptions(columns=ColumnChoice(id="id", fields={"text": "text"})))
    assert changed.replaced == 2


def test_size_and_times_are_only_a_hint(notes: Path) -> None:
    file = notes / "a.txt"
    os.utime(file, (1, 1))
    mark = FileMark.of(file)
    file.write_text("orange"[:6])
    os.utime(file, (1, 1))
    assert FileMark.of(file, mark).sha256 != mark.sha256


def test_the_rows_of_a_table_follow(tmp_path: Path, out: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("ticket,title,text\nT1,Lamp,The lamp is broken\nT2,Chair,The chair wobbles\n")
    sync(table, out)
    table.write_text("ticket,title,text\nT2,Chair,The chair is fine now\nT3,Desk,The desk is new here\n")
    assert str(sync(table, out)) == "1 added, 1 replaced, 1 deleted, 0 unchanged"
    assert sorted(texts(out)) == ["T2", "T3"]


def test_a_table_without_ids_follows_too(tmp_path: Path, out: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("title,text\nLamp,The lamp is broken again\nChair,The chair wobbles a bit\n")
    sync(table, out)
    table.write_text("title,text\nDesk,The desk is new and large\nLamp,The lamp is broken again\n")
    assert str(sync(table, out)) == "1 added, 0 replaced, 1 deleted, 1 unchanged"


def test_documents_that_came_another_way_stay(notes: Path, out: Path) -> None:
    sync(notes, out)
    with IndexWriter(out) as writer:
        writer.add(Document("other", {"text": "mine"}))
        writer.add(Document("b.txt", {"text": "replaced by somebody"}))
    (notes / "b.txt").unlink()
    assert str(sync(notes, out)) == "0 added, 0 replaced, 0 deleted, 2 unchanged"
    assert texts(out)["b.txt"] == "replaced by somebody"
    assert "other" in texts(out)


def test_what_others_deleted_or_changed_comes_back(notes: Path, out: Path) -> None:
    sync(notes, out)
    with IndexWriter(out) as writer:
        writer.delete("a.txt")
        writer.add(Document("b.txt", {"text": "replaced by somebody"}))
    assert str(sync(notes, out)) == "1 added, 1 replaced, 0 deleted, 1 unchanged"
    assert texts(out) == {"a.txt": "apples", "b.txt": "bears", "deep/c.md": "cats"}


def test_an_index_that_was_made_before_is_taken_over(notes: Path, out: Path) -> None:
    with IndexWriter(out) as writer:
        writer.add_all(document for document in read_documents(notes) if document.id == "a.txt")
    assert str(sync(notes, out)) == "2 added, 0 replaced, 0 deleted, 1 unchanged"
    (notes / "a.txt").unlink()
    assert sync(notes, out).deleted == 1


@pytest.mark.parametrize("gone", ["missing", "empty", "other files"])
def test_a_source_that_is_suddenly_empty_deletes_nothing_unless_it_may(notes: Path, out: Path, gone: str) -> None:
    sync(notes, out)
    shutil.rmtree(notes)
    if gone != "missing":
        notes.mkdir()
    if gone == "other files":
        (notes / "picture.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(RankwellError, match="3 documents came from here, and --allow-empty deletes them"):
        sync(notes, out)
    assert len(texts(out)) == 3
    assert str(sync(notes, out, SyncOptions(allow_empty=True))) == "0 added, 0 replaced, 3 deleted, 0 unchanged"
    assert texts(out) == {}


@pytest.mark.parametrize("left", ["", "ticket,title,text\n"])
def test_a_table_that_is_suddenly_empty_deletes_nothing(tmp_path: Path, out: Path, left: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text("ticket,title,text\nT1,Lamp,The lamp is broken\n")
    sync(table, out)
    table.write_text(left)
    with pytest.raises(RankwellError, match="--allow-empty"):
        sync(table, out)
    assert sync(table, out, SyncOptions(allow_empty=True)).deleted == 1


def test_a_first_sync_of_nothing_makes_no_index(tmp_path: Path, out: Path) -> None:
    (tmp_path / "t.csv").write_text("ticket,title,text\n")
    with pytest.raises(RankwellError, match="expected documents, found none"):
        sync(tmp_path / "t.csv", out)
    assert not out.exists()


def test_files_that_were_all_renamed_are_no_empty_source(notes: Path, out: Path) -> None:
    sync(notes, out)
    for file in [*notes.rglob("*.txt"), *notes.rglob("*.md")]:
        file.rename(file.with_stem(file.stem + "2"))
    assert str(sync(notes, out)) == "3 added, 0 replaced, 3 deleted, 0 unchanged"


def test_a_bad_file_stays_as_it_was_and_the_others_go_on(notes: Path, out: Path) -> None:
    sync(notes, out)
    (notes / "a.txt").write_bytes(BAD)
    (notes / "b.txt").write_text("bees")
    with pytest.raises(RankwellError, match=r"a\.txt:1: expected a whole gzip file"):
        sync(notes, out)
    changes = sync(notes, out, SyncOptions(go_on=True))
    assert str(changes) == "0 added, 1 replaced, 0 deleted, 2 unchanged"
    assert [str(error).partition(": ")[0] for error in changes.bad] == [f"{notes / 'a.txt'}:1"]
    assert texts(out) == {"a.txt": "apples", "b.txt": "bees", "deep/c.md": "cats"}
    (notes / "a.txt").write_text("avocados")
    assert str(sync(notes, out, SyncOptions(go_on=True))) == "0 added, 1 replaced, 0 deleted, 2 unchanged"


def test_a_first_sync_of_bad_files_alone_makes_no_index(tmp_path: Path, out: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_bytes(BAD)
    with pytest.raises(RankwellError, match="expected a whole gzip file"):
        sync(tmp_path / "notes", out, SyncOptions(go_on=True))
    assert not out.exists()


def test_two_sources_do_not_take_each_others_documents(notes: Path, tmp_path: Path, out: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,text\na.txt,some other words here\nx,other words again\n")
    sync(notes, out)
    with pytest.raises(RankwellError, match=r"found \"a.txt\", which is another document of .*notes"):
        sync(table, out)
    table.write_text("id,text\nx,other words again\n")
    assert sync(table, out).added == 1
    (notes / "a.txt").unlink()
    assert str(sync(notes, out)) == "0 added, 0 replaced, 1 deleted, 2 unchanged"
    assert sorted(texts(out)) == ["b.txt", "deep/c.md", "x"]


def test_a_source_that_was_moved_keeps_its_documents(notes: Path, out: Path) -> None:
    sync(notes, out)
    moved = notes.rename(notes.with_name("moved"))
    (moved / "a.txt").write_text("avocados")
    assert str(sync(moved, out)) == "0 added, 1 replaced, 0 deleted, 2 unchanged"
    (moved / "b.txt").unlink()
    assert sync(moved, out).deleted == 1


def test_one_id_with_two_contents_is_an_error_also_beside_an_unchanged_file(tmp_path: Path, out: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,text\n1,one two three\n1,four five six\n")
    with pytest.raises(RankwellError, match="expected an id that was not there before"):
        sync(table, out)
    assert sync(table, out, reading=Reading(problems=Problems(skip=True))).added == 1


def test_an_index_inside_its_source_is_not_read(notes: Path) -> None:
    out = notes / "index"
    sync(notes, out)
    (out / "stray.txt").write_text("not a note")
    assert str(sync(notes, out)) == "0 added, 0 replaced, 0 deleted, 3 unchanged"


class StopError(Exception):
    """The process ends here."""


def stop(*_: Any, **__: Any) -> None:
    raise StopError


@pytest.mark.parametrize("moment", ["announce", "commit", "remember"])
@pytest.mark.parametrize("first", [True, False])
def test_after_an_end_at_any_moment_the_next_sync_is_right(
    notes: Path, out: Path, moment: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not first:
        (notes / "old.txt").write_text("old words")
        sync(notes, out)
        (notes / "old.txt").unlink()
        (notes / "a.txt").write_text("avocados")
    (notes / "new.txt").write_text("new words")
    with monkeypatch.context() as patch:
        patch.setattr(IndexWriter if moment == "commit" else syncing._Sync, moment, stop)
        with pytest.raises(StopError):
            sync(notes, out)
    (notes / "new.txt").unlink()  # it may be in the index by now, and must not stay there
    (notes / "b.txt").write_text("bees")
    sync(notes, out)
    assert texts(out) == {file.relative_to(notes).as_posix(): file.read_text() for file in notes.rglob("*.*")}
    assert not any(state.pending for state in read_sources(out).values())


def test_half_a_state_of_a_first_sync_that_was_killed_is_removed(notes: Path, out: Path) -> None:
    out.mkdir()
    (out / ".sources.json.6be3c513.part").write_bytes(b'{"version":1,"sour')
    assert sync(notes, out).added == 3
    assert not list(out.glob(".*"))


@pytest.mark.slow
def test_forty_kills_and_the_next_sync_is_right(notes: Path, out: Path) -> None:
    lots = random.Random(7)  # noqa: S311 -- no secret
    program = f"from rankwell.index import sync; print('go', flush=True); sync({str(notes)!r}, {str(out)!r})"
    for number in range(40):
        for name in lots.sample([f"{n}.txt" for n in range(30)], 10):
            if lots.random() < 0.3:
                (notes / name).unlink(missing_ok=True)
            else:
                (notes / name).write_text(f"words {number} of {name}")
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(lots.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if number % 4 == 3:
            sync(notes, out)
            assert texts(out) == {file.relative_to(notes).as_posix(): file.read_text() for file in notes.rglob("*.*")}
