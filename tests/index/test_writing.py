from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankwell import Analyzer, Document, RankwellError
from rankwell.index import Index, IndexWriter, Scoring
from rankwell.index.manifest import SegmentEntry
from rankwell.index.merging import to_merge

ANIMALS = {"d1": "the quick brown fox", "d2": "the lazy dog", "d3": "a quick dog"}


def ids(index: Index, query: str, **options) -> list[str]:
    return index.search(query, **options).docnos.tolist()


def test_what_was_added_is_found(build) -> None:
    index = build(ANIMALS)
    assert set(ids(index, "quick")) == {"d1", "d3"}
    assert len(index) == 3


def test_an_id_again_replaces_the_document(build, tmp_path) -> None:
    index = build(ANIMALS)
    with IndexWriter(tmp_path / "index") as writer:
        writer.add(Document("d1", {"text": "a slow tortoise"}))
    later = Index.open(tmp_path / "index")
    assert ids(later, "fox") == []
    assert ids(later, "tortoise") == ["d1"]
    assert later.documents["d1"].text() == "a slow tortoise"
    assert len(later) == 3
    assert ids(index, "fox") == ["d1"]


def test_an_id_twice_in_one_commit_keeps_the_last(tmp_path) -> None:
    with IndexWriter(tmp_path / "i") as writer:
        for text in ("first", "second", "third"):
            writer.add(Document("d", {"text": text}))
    index = Index.open(tmp_path / "i")
    assert len(index) == 1
    assert ids(index, "first second third") == ["d"]
    assert index.statistics("first").documents == 0
    assert index.documents["d"].text() == "third"


def test_deleted_documents_are_gone_and_statistics_are_exact(build, tmp_path) -> None:
    build(ANIMALS)
    with IndexWriter(tmp_path / "index") as writer:
        writer.delete("d3")
        writer.delete("never there")
    index, alone = Index.open(tmp_path / "index"), tmp_path / "alone"
    with IndexWriter(alone, index.analyzer) as writer:
        for docno in ("d1", "d2"):
            writer.add(Document(docno, {"text": ANIMALS[docno]}))
    fresh = Index.open(alone)
    assert index.average_lengths == fresh.average_lengths
    for query in ("quick", "dog", "the lazy fox"):
        assert list(index.search(query)[0]) == list(fresh.search(query)[0])
    assert "d3" not in index.documents
    assert list(index.documents) == ["d2", "d1"]


def test_deleted_then_added_again_is_there(build, tmp_path) -> None:
    build(ANIMALS)
    with IndexWriter(tmp_path / "index") as writer:
        writer.delete("d1")
        writer.add(Document("d1", {"text": "fox again"}))
        writer.add(Document("d9", {"text": "fox too"}))
        writer.delete("d9")
    assert ids(Index.open(tmp_path / "index"), "fox") == ["d1"]


def test_nothing_is_seen_before_the_commit(build, tmp_path) -> None:
    build(ANIMALS)
    with IndexWriter(tmp_path / "index") as writer:
        writer.add(Document("d4", {"text": "fox"}))
        assert ids(Index.open(tmp_path / "index"), "fox") == ["d1"]
        writer.commit()
        assert set(ids(Index.open(tmp_path / "index"), "fox")) == {"d1", "d4"}


def test_an_exception_in_the_block_leaves_the_last_commit(build, tmp_path) -> None:
    build(ANIMALS)
    with pytest.raises(KeyboardInterrupt), IndexWriter(tmp_path / "index") as writer:  # noqa: PT012 -- what is tested
        writer.add(Document("d4", {"text": "fox"}))
        raise KeyboardInterrupt
    index = Index.open(tmp_path / "index")
    index.verify()
    assert ids(index, "fox") == ["d1"]
    assert len(list((tmp_path / "index").glob("*.segment"))) == 1


def test_an_interruption_right_after_the_commit_keeps_it(build, tmp_path, monkeypatch) -> None:
    build(ANIMALS)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    writer = IndexWriter(tmp_path / "index")
    writer.add(Document("d4", {"text": "fox"}))
    monkeypatch.setattr("rankwell.core.files.sync_folder", interrupt)
    with pytest.raises(KeyboardInterrupt):
        writer.commit()
    index = Index.open(tmp_path / "index")
    index.verify()
    assert set(ids(index, "fox")) == {"d1", "d4"}


def test_a_commit_without_changes_is_none(build, tmp_path) -> None:
    index = build(ANIMALS)
    with IndexWriter(tmp_path / "index") as writer:
        assert writer.commit() == index.commit
    assert Index.open(tmp_path / "index").fingerprint() == index.fingerprint()


def test_a_second_writer_is_told_of_the_first(build, tmp_path) -> None:
    build(ANIMALS)
    with (
        IndexWriter(tmp_path / "index"),
        pytest.raises(RankwellError, match="another writer is at work"),
        IndexWriter(tmp_path / "index"),
    ):
        pass


def test_settings_stay_as_they_were_made(build, tmp_path) -> None:
    build(ANIMALS, metadata=["year"])
    with pytest.raises(RankwellError, match=r"analyzer: expected .*leave it out"):
        IndexWriter(tmp_path / "index", Analyzer("german"))
    with pytest.raises(RankwellError, match="metadata: expected"):
        IndexWriter(tmp_path / "index", metadata=["month"])
    with IndexWriter(tmp_path / "index", metadata=["year"]):
        pass


@pytest.mark.parametrize("docno", ["", "a\0b", "\ud800"])
def test_an_id_that_cannot_be_kept_is_refused(tmp_path, docno) -> None:
    with pytest.raises(RankwellError, match="document id"), IndexWriter(tmp_path / "i") as writer:
        writer.add(Document(docno, {"text": "x"}))


def test_empty_documents_are_kept(build) -> None:
    index = build({"d1": "", "d2": "word", "d3": "..."})
    assert len(index) == 3
    assert index.documents["d1"].text() == ""
    assert ids(index, "word") == ["d2"]
    assert index.average_lengths[""] == pytest.approx(1 / 3)
    assert index.average_lengths["text"] == pytest.approx(1 / 2)


def test_an_empty_index_finds_nothing(tmp_path) -> None:
    with IndexWriter(tmp_path / "i"):
        pass
    index = Index.open(tmp_path / "i")
    assert len(index) == 0
    assert ids(index, "word") == []
    index.verify()
    assert index.merge().search(["a", "b"]).offsets.tolist() == [0, 0, 0]


def test_half_a_character_in_a_text_is_stored_as_a_mark(build) -> None:
    index = build({"d": "broken \ud800 text"})
    assert index.documents["d"].text() == "broken \ufffd text"


def test_metadata_that_json_cannot_hold_is_refused_by_name(tmp_path) -> None:
    with pytest.raises(RankwellError, match="document 'd7'"), IndexWriter(tmp_path / "i") as writer:
        writer.add(Document("d7", {"text": "x"}, {"when": object()}))


def test_many_commits_are_merged_into_few_segments(tmp_path) -> None:
    with IndexWriter(tmp_path / "i") as writer:
        for number in range(100):
            writer.add(Document(f"d{number}", {"text": f"common word{number}"}))
            writer.commit()
    index = Index.open(tmp_path / "i")
    assert index.info()["segments"] < 20
    assert len(index) == 100
    assert len(ids(index, "common", k=200)) == 100
    files = {file.name for file in (tmp_path / "i").iterdir()}
    assert len(files) == index.info()["segments"] + 2


def test_merging_changes_no_result(tmp_path) -> None:
    with IndexWriter(tmp_path / "i", positions=True, metadata=["n"]) as writer:
        for number in range(60):
            fields = {"title": f"title {number % 7}", "text": f"common {'x ' * (number % 5)} w{number}"}
            writer.add(Document(f"d{number}", fields if number % 3 else {"text": "common"}, {"n": number}))
            if number % 9 == 0:
                writer.commit()
        for number in range(0, 60, 4):
            writer.delete(f"d{number}")
    before = Index.open(tmp_path / "i")
    after = before.merge()
    assert after.info()["segments"] == 1
    assert after.info()["deleted"] == 0
    for scoring in (Scoring(), Scoring(weights={"title": 2, "text": 1}), Scoring(match="and")):
        for query in ("common x", "title 3", "w7 common"):
            assert list(after.search(query, 100, scoring)[0]) == list(before.search(query, 100, scoring)[0])
    assert dict(after.documents) == dict(before.documents)
    assert sorted(after.columns["n"].numbers.tolist()) == sorted(before.columns["n"].numbers[before.live].tolist())
    assert after.statistics("w4").lists == (None,)


@pytest.mark.parametrize("appends", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_reader_keeps_its_version_during_many_appends_and_a_merge(build, tmp_path, appends) -> None:
    index = build(ANIMALS)
    before = list(index.search("quick dog")[0])
    with IndexWriter(tmp_path / "index") as writer:
        for number in range(appends):
            writer.add(Document(f"n{number}", {"text": "quick dog"}))
            writer.commit()
            if number % (appends // 10) == 0:
                assert list(index.search("quick dog")[0]) == before
                assert index.documents["d1"].text() == ANIMALS["d1"]
        writer.merge()
    assert list(index.search("quick dog")[0]) == before
    index.verify()
    assert len(Index.open(tmp_path / "index")) == appends + 3


@pytest.mark.parametrize("words", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_a_large_document_is_read_like_any_other(build, words) -> None:
    text = "word " * words + "needle"
    index = build({"large": text, "small": "word needle"})
    assert ids(index, "needle") == ["small", "large"]
    documents, frequencies = index.postings("word")
    assert dict(zip(index.docnos(documents).tolist(), frequencies.tolist(), strict=True)) == {
        "large": words,
        "small": 1,
    }
    assert index.documents["large"].text() == text


@pytest.mark.parametrize(("largest", "segments"), [(1000, 1), (10, 3)])
def test_segments_that_are_written_early_count_as_one_commit(tmp_path, monkeypatch, largest, segments) -> None:
    monkeypatch.setattr("rankwell.index.writer.LARGEST_JOINED", largest)
    monkeypatch.setattr("rankwell.index.writer.MEMORY_POSTINGS", 1000)
    monkeypatch.setattr("rankwell.index.buffer.BATCH", 200)
    with IndexWriter(tmp_path / "i") as writer:
        for number in range(500):
            writer.add(Document(f"d{number % 400}", {"text": f"common {number} " + "x y z " * 3}))
    index = Index.open(tmp_path / "i")
    assert index.info()["segments"] == segments
    assert len(index) == 400
    assert len(ids(index, "common", k=1000)) == 400
    assert ids(index, "50") == []
    assert ids(index, "450") == ["d50"]


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter; pytest closes its own ones again whenever somebody starts it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_read_only_folder_is_refused_and_still_read(build, tmp_path, open_to_all) -> None:
    build(ANIMALS)
    folder = shutil.copytree(tmp_path / "index", open_to_all / "index")
    program = f"""
import os
from rankwell.index import IndexWriter
from rankwell import RankwellError
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    IndexWriter({str(folder)!r})
except RankwellError as error:
    print(error)
"""
    (folder / "write.lock").unlink()
    folder.chmod(0o555)
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    assert "cannot write here: Permission denied" in done.stdout, done.stderr
    assert ids(Index.open(folder), "fox") == ["d1"]


def test_a_full_disk_loses_nothing_that_was_committed(build, tmp_path) -> None:
    build(ANIMALS)
    program = f"""
import random, resource, signal
from rankwell import Document, RankwellError
from rankwell.index import IndexWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
words = [str(random.random()) for _ in range(100_000)]
try:
    with IndexWriter({str(tmp_path / "index")!r}) as writer:
        for number in range(2000):
            writer.add(Document(f"n{{number}}", {{"text": " ".join(random.choices(words, k=50))}}))
except RankwellError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "not written: File too large; the last commit is intact" in done.stdout, done.stderr
    index = Index.open(tmp_path / "index")
    index.verify()
    assert len(index) == 3
    assert len(list((tmp_path / "index").glob("*.segment"))) == 1


def test_leftovers_of_a_dead_writer_are_cleaned_up(build, tmp_path) -> None:
    build(ANIMALS)
    program = f"""
import os, signal
from rankwell import Document
from rankwell.index import IndexWriter
writer = IndexWriter({str(tmp_path / "index")!r})
writer.add(Document("d9", {{"text": "fox"}}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "index").glob("*.segment"))) == 2
    with IndexWriter(tmp_path / "index"):
        assert len(list((tmp_path / "index").glob("*.segment"))) == 1


def test_what_is_no_index_is_said_to_be_none(tmp_path) -> None:
    with pytest.raises(RankwellError, match="expected an index, found nothing there"):
        Index.open(tmp_path / "nowhere")
    with pytest.raises(RankwellError, match="expected an index, found a folder without a manifest"):
        Index.open(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RankwellError, match="expected an index, found a file"):
        Index.open(tmp_path / "file")
    with pytest.raises(RankwellError, match="expected an index or an empty folder, found 'file' in it"):
        IndexWriter(tmp_path)
    with pytest.raises(RankwellError, match="expected a folder for an index, found a file"):
        IndexWriter(tmp_path / "file")


def test_segments_that_would_not_fit_into_one_are_left_alone() -> None:
    def entries(tokens: int) -> list[SegmentEntry]:
        return [SegmentEntry(f"{n}.segment", 1, 1, 9, 9, {"": 9}, {"": tokens}) for n in range(8)]

    assert len(list(to_merge(entries(1 << 28)))) == 1
    assert list(to_merge(entries(1 << 30))) == []
