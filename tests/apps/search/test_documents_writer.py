from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rankwell import Document
from rankwell.apps.search import documents_writer
from rankwell.apps.search.documents_writer import (
    Deletion,
    DocumentsWriter,
    IndexBusyError,
    NotWrittenError,
    WriterClosedError,
    WritesFullError,
    Written,
)
from rankwell.core import ParameterError, RankwellError
from rankwell.index import Index, IndexWriter
from waiting import wait_until

SOON = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with IndexWriter(tmp_path / "index", metadata=["year"]) as writer:
        writer.add(document("old"))
    return tmp_path / "index"


@pytest.fixture
def writer(folder: Path) -> Iterator[DocumentsWriter]:
    writer = DocumentsWriter(folder)
    yield writer
    writer.close()


def document(docno: str, text: str = "a fever", **metadata: object) -> Document:
    return Document(docno, {"text": text}, metadata)


def documents(folder: Path) -> dict[str, str]:
    return {docno: found.fields["text"] for docno, found in Index.open(folder).documents.items()}


def until(true: Callable[[], bool]) -> None:
    wait_until(true, "it became true", patience=SOON, pause=0.01)


def test_an_answer_means_that_it_is_committed(writer: DocumentsWriter, folder: Path) -> None:
    assert writer.put([document("new"), document("old", "replaced")]).result(SOON) == Written(2, created=1, replaced=1)
    assert documents(folder) == {"new": "a fever", "old": "replaced"}
    assert writer.delete(["new", "none"]).result(SOON) == Written(3, deleted=1, missing=1)
    assert documents(folder) == {"old": "replaced"}


def test_changes_of_a_request_are_made_in_their_order(writer: DocumentsWriter, folder: Path) -> None:
    changes = [
        Deletion("old"),
        document("old", "again"),
        document("x"),
        Deletion("x"),
        document("y"),
        document("y", "2"),
    ]
    assert writer.change(changes).result(SOON) == Written(2, created=3, replaced=1, deleted=2)
    assert documents(folder) == {"old": "again", "y": "2"}


def test_readers_are_told_before_whoever_asked(folder: Path) -> None:
    seen: list[tuple[int, bool]] = []
    futures = []
    told = threading.Event()

    def committed(commit: int) -> None:
        told.wait(SOON)
        seen.append((commit, futures[0].done()))

    writer = DocumentsWriter(folder, committed)
    futures.append(writer.put([document("new")]))
    told.set()
    assert futures[0].result(SOON).commit == 2
    assert seen == [(2, False)]
    writer.close()


def test_requests_that_come_together_share_a_commit(folder: Path) -> None:
    first, go = threading.Event(), threading.Event()

    def committed(_: int) -> None:
        first.set()
        go.wait(SOON)

    writer = DocumentsWriter(folder, committed)
    futures = [writer.put([document("first")])]
    assert first.wait(SOON)
    futures += [writer.put([document(f"d{number}")]) for number in range(50)]
    go.set()
    assert [future.result(SOON).commit for future in futures] == [2] + 50 * [3]
    writer.close()


def test_many_small_commits_make_few_segments(writer: DocumentsWriter, folder: Path) -> None:
    for number in range(40):
        writer.put([document(f"d{number:03}")]).result(SOON)
    assert writer.commits == 40
    assert len(Index.open(folder).segments) <= 14  # two tiers of up to seven
    assert len(Index.open(folder)) == 41


def test_large_segments_are_merged_beside_the_commits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_writer, "MERGED_AT_ONCE", 0)  # everything is large
    commits: list[int] = []
    writer = DocumentsWriter(folder, commits.append)
    for number in range(20):
        writer.put([document(f"d{number:03}"), document("often", str(number))]).result(SOON)
        if number % 5 == 0:
            writer.delete([f"d{number:03}"]).result(SOON)
    until(lambda: writer.merging == 0)
    index = Index.open(folder)
    kept = {f"d{number:03}" for number in range(20) if number % 5} | {"old", "often"}
    assert set(index.documents) == kept
    assert index.documents["often"].fields["text"] == "19"
    assert len(index.segments) < 20
    assert len(commits) > 24  # those of merges among them
    index.verify()
    writer.close()


def test_what_dies_while_it_is_merged_stays_dead(folder: Path) -> None:
    with IndexWriter(folder) as writer:
        for number in range(8):
            writer.add(document(f"d{number}"))
            writer.commit(largest_merge=0)
        job = writer.begin_merge()
        assert job is not None
        assert writer.begin_merge() is None  # one at a time
        writer.delete("d3")
        writer.add(document("d4", "replaced"))
        writer.commit(largest_merge=0)
        job.run()
        writer.delete("d5")
        writer.end_merge(job)
        assert len(Index.open(folder).segments) == 2
    found = documents(folder)
    assert set(found) == {"old", "d0", "d1", "d2", "d4", "d6", "d7"}
    assert found["d4"] == "replaced"
    assert len(Index.open(folder)) == 7
    Index.open(folder).verify()


def test_a_merge_that_failed_changes_nothing(folder: Path) -> None:
    with IndexWriter(folder) as writer:
        for number in range(8):
            writer.add(document(f"d{number}"))
            writer.commit(largest_merge=0)
        job = writer.begin_merge()
        assert job is not None
        writer.end_merge(job)  # without having run
        assert len(Index.open(folder).segments) == 9
        writer.add(document("next"))
        writer.commit()
        with pytest.raises(RankwellError, match="expected the merge that was begun last"):
            writer.end_merge(job)
    job._file.close()
    assert len(documents(folder)) == 10
    assert {file.name for file in folder.iterdir()} == {*_files(folder), "manifest", "write.lock"}


def _files(folder: Path) -> set[str]:
    return Index.open(folder)._manifest.files


@pytest.mark.parametrize(
    "bad",
    [
        Document("", {}),
        Document("a\0b", {}),
        Document("half \ud800", {}),
        Document(17, {}),  # type: ignore[arg-type]
        Document("d", {"text": 17}),  # type: ignore[dict-item]
        Document("d", {"text": "half \ud800"}),
        Document("d", {"": "text"}),
        Document("d", {}, {"year": object()}),
        Document("d", {}, ["year"]),  # type: ignore[arg-type]
        Deletion(""),
    ],
)
def test_what_no_index_can_hold_is_refused_at_once(writer: DocumentsWriter, folder: Path, bad) -> None:
    with pytest.raises(ParameterError):
        writer.change([document("good"), bad])
    assert set(documents(folder)) == {"old"}


def test_another_writer_is_an_error_and_not_a_hang(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_writer, "PATIENCE", 0.2)
    writer = DocumentsWriter(folder)
    with IndexWriter(folder), pytest.raises(IndexBusyError, match="another writer is at work"):
        writer.put([document("new")]).result(SOON)
    assert writer.put([document("new")]).result(SOON).created == 1
    writer.close()


def test_a_command_may_write_when_the_server_is_idle(
    folder: Path, writer: DocumentsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_writer, "IDLE", 0.05)
    writer.put([document("first")]).result(SOON)

    def command() -> bool:
        try:
            with IndexWriter(folder) as other:
                other.add(document("command"))
        except RankwellError:
            return False
        return True

    until(command)
    writer.put([document("second")]).result(SOON)
    assert set(documents(folder)) == {"old", "first", "command", "second"}


def test_a_disk_that_takes_nothing_fails_its_requests_and_the_next_succeeds(folder: Path) -> None:
    program = f"""
import resource, signal, threading
from rankwell import Document
from rankwell.core import RankwellError
from rankwell.apps.search.documents_writer import DocumentsWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = DocumentsWriter({str(folder)!r})
print(writer.put([Document("before", {{"text": "fever"}})]).result())
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
futures = [writer.put([Document(f"full{{n}}", {{"text": str(list(range(n, n + 9000)))}})]) for n in range(3)]
for future in futures:
    try:
        print(future.result())
    except RankwellError as error:
        print(type(error).__name__, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(writer.put([Document("after", {{"text": "fever"}})]).result())
writer.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=SOON)
    lines = done.stdout.splitlines()
    assert [line.split("(")[0].split()[0] for line in lines] == ["Written", *3 * ["NotWrittenError"], "Written"]
    assert "not written: File too large; the last commit is intact" in lines[1]
    assert set(documents(folder)) == {"old", "before", "after"}


def test_a_folder_that_may_not_be_written_is_told(folder: Path) -> None:
    (folder / "write.lock").unlink()
    (folder / "write.lock").mkdir()  # what root cannot open for writing either
    writer = DocumentsWriter(folder)
    with pytest.raises(NotWrittenError, match="cannot write here"):
        writer.put([document("new")]).result(SOON)
    (folder / "write.lock").rmdir()
    assert writer.put([document("new")]).result(SOON).created == 1
    writer.close()


def test_an_unforeseen_failure_fails_its_own_request_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = IndexWriter.add

    def failing(self: IndexWriter, document: Document) -> None:
        if document.id == "bad":
            raise ZeroDivisionError
        add(self, document)

    monkeypatch.setattr(IndexWriter, "add", failing)
    first, go = threading.Event(), threading.Event()
    writer = DocumentsWriter(folder, lambda _: (first.set(), go.wait(SOON)))
    held = writer.put([document("held")])
    assert first.wait(SOON)
    good, bad, also = (writer.put([document(docno)]) for docno in ("good", "bad", "also"))
    go.set()
    assert held.result(SOON)
    assert good.result(SOON).created == also.result(SOON).created == 1
    with pytest.raises(ZeroDivisionError):
        bad.result(SOON)
    assert set(documents(folder)) == {"old", "held", "good", "also"}
    writer.close()


def test_more_than_the_server_holds_is_refused_with_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_writer, "WAITING", 10)
    first, go = threading.Event(), threading.Event()
    writer = DocumentsWriter(folder, lambda _: (first.set(), go.wait(SOON)))
    held = writer.put([document("held")])
    assert first.wait(SOON)
    many = writer.put([document(f"d{number}") for number in range(50)])  # a single one is taken, whatever its size
    with pytest.raises(WritesFullError, match=r"50 changes wait to be written already: try again in \d+ s") as full:
        writer.put([document("more")])
    assert full.value.retry_after >= 1
    go.set()
    assert held.result(SOON).created == 1
    assert many.result(SOON).created == 50
    writer.close()


def test_closing_writes_what_waits_and_refuses_what_comes(folder: Path) -> None:
    writer = DocumentsWriter(folder)
    futures = [writer.put([document(f"d{number}")]) for number in range(20)]
    writer.close()
    assert all(future.result(0).created == 1 for future in futures)
    with pytest.raises(WriterClosedError, match="stopping"):
        writer.put([document("late")])
    assert len(documents(folder)) == 21
    with IndexWriter(folder):  # nobody holds the index
        pass


def test_many_threads_write_and_nothing_is_lost(folder: Path, writer: DocumentsWriter) -> None:
    def work(worker: int) -> None:
        for number in range(10):
            writer.put([document(f"{worker}-{number}")]).result(SOON)
            if number % 2:
                writer.delete([f"{worker}-{number}"]).result(SOON)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert set(documents(folder)) == {"old"} | {f"{w}-{n}" for w in range(8) for n in range(0, 10, 2)}
    assert writer.commits < 120


def test_reading_goes_on_while_documents_are_written(folder: Path, writer: DocumentsWriter) -> None:
    reader = Index.open(folder)
    for number in range(10):
        writer.put([document(f"d{number}"), document("old", str(number))]).result(SOON)
        assert reader.documents["old"].fields["text"] == "a fever"
    assert len(reader.search("fever").documents) == 1
    assert len(Index.open(folder).search("fever", k=50).documents) == 10


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_acknowledged_and_nothing_is_half_there(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with IndexWriter(folder) as made:
        made.add(document("old"))
    program = f"""
import sys
from rankwell import Document
from rankwell.apps.search import documents_writer
from rankwell.apps.search.documents_writer import DocumentsWriter
documents_writer.MERGED_AT_ONCE = 20
writer = DocumentsWriter({str(folder)!r})
for number in range(int(sys.argv[1]), 1_000_000):
    writer.put([Document(f"{{number}}-{{part}}", {{"text": f"fever {{number}}"}}) for part in (0, 1)]).result()
    print(number, flush=True)
"""
    told = -1
    for turn in range(20):
        command = [sys.executable, "-c", program, str(told + 1)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        told = int(process.stdout.readline())
        time.sleep(0.02 * turn)
        os.kill(process.pid, 9)
        rest = process.stdout.read().split(b"\n")[:-1]
        process.wait()
        process.stdout.close()
        told = int(rest[-1]) if rest else told
        index = Index.open(folder)
        index.verify()
        numbers = {docno.partition("-")[0] for docno in index.documents if docno != "old"}
        assert {str(number) for number in range(told + 1)} <= numbers
        assert len(index) == 1 + 2 * len(numbers)  # a request is there with all of its documents or with none
        told = max(map(int, numbers))
