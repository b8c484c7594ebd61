"""Waiting for the disk together, and what happens when the disk fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from small_studies import join, make_study
from sqlalchemy import text

from rankwell.judging import open_study
from rankwell.store.database import SharedSync
from waiting import wait_until

FSYNC = "rankwell.store.database.os.fsync"
SYNC = os.fsync


def full(_: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


def until(condition: Callable[[], bool]) -> None:
    wait_until(condition, "the condition holds", pause=0.005)


@pytest.fixture
def sync(tmp_path: Path) -> Iterator[SharedSync]:
    (tmp_path / "log").write_bytes(b"frames")
    found = SharedSync(tmp_path / "log")
    yield found
    found.close()


class SlowDisk:
    """A disk that syncs when it is told to, and counts."""

    def __init__(self, outcome: Callable[[int], None] = SYNC) -> None:
        self.begun = 0
        self.go_on = Event()
        self.outcome = outcome

    def __call__(self, file: int) -> None:
        self.begun += 1
        assert self.go_on.wait(20)
        self.outcome(file)


def test_all_who_come_during_a_sync_share_the_next_one(sync: SharedSync, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk()
    monkeypatch.setattr(FSYNC, disk)
    with ThreadPoolExecutor(20) as threads:
        first = threads.submit(sync.wait)
        until(lambda: disk.begun == 1)
        others = [threads.submit(sync.wait) for _ in range(19)]
        until(lambda: len(sync._state._waiters) == 19)  # the only sign that they wait
        assert not any(job.done() for job in [first, *others])
        disk.go_on.set()
        for job in (first, *others):
            job.result(20)
    assert disk.begun == 2


def test_a_sync_that_had_begun_does_not_serve_who_comes_later(
    sync: SharedSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk()
    monkeypatch.setattr(FSYNC, disk)
    disk.go_on.set()
    sync.wait()
    sync.wait()
    assert disk.begun == 2


def test_a_failed_sync_fails_everyone_who_waited_and_all_who_come_after(
    sync: SharedSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(full)
    monkeypatch.setattr(FSYNC, disk)
    with ThreadPoolExecutor(6) as threads:
        first = threads.submit(sync.wait)
        until(lambda: disk.begun == 1)
        others = [threads.submit(sync.wait) for _ in range(5)]
        until(lambda: len(sync._state._waiters) == 5)  # the only sign that they wait
        disk.go_on.set()
        for job in (first, *others):
            with pytest.raises(OSError, match="Input/output error"):
                job.result(20)
    assert disk.begun == 1, "a second sync would succeed without the bytes that the first one lost"
    monkeypatch.setattr(FSYNC, SYNC)
    with pytest.raises(OSError, match="the disk failed to keep a write before"):
        sync.wait()


def test_a_log_that_sqlite_removed_or_made_anew_is_followed(sync: SharedSync, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(FSYNC, lambda file: synced.append(os.fstat(file).st_ino))
    sync.wait()
    sync.path.rename(sync.path.with_name("old"))
    sync.wait()
    assert len(synced) == 1, "there is nothing to sync"
    sync.path.write_bytes(b"new frames")
    sync.wait()
    assert synced == [sync.path.with_name("old").stat().st_ino, sync.path.stat().st_ino]


def test_a_grade_whose_sync_failed_is_not_acknowledged(
    sqlite_address: str, closing, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    monkeypatch.setattr(FSYNC, full)
    for _ in range(2):  # nor when it is sent again
        with pytest.raises(OSError, match="Input/output error"):
            store.judging.give(name, task.assignment, task.position, 3)
    monkeypatch.setattr(FSYNC, SYNC)
    with pytest.raises(OSError, match="start again"):
        store.judging.give(name, task.assignment, task.position, 3)
    again = closing(open_study(sqlite_address))
    again.judging.give(name, task.assignment, task.position, 3)
    assert [row.grade for row in again.answers()] == [3]


def test_grades_are_on_the_disk_before_and_after_checkpoints(
    sqlite_address: str, closing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is synced, taken as a power cut would leave it, holds every acknowledged write."""
    store = closing(make_study(sqlite_address, queries=3))
    path, log = Path(sqlite_address), Path(f"{sqlite_address}-wal")
    kept: dict[Path, bytes] = {}

    def keep(file: int) -> None:
        SYNC(file)
        kept[log] = log.read_bytes()

    monkeypatch.setattr(FSYNC, keep)
    for number in range(16):
        with store.database.write() as session:
            session.execute(text("UPDATE queries SET text = :text"), {"text": f"{number} " * 3000})
        if number % 7 == 3:
            with store.database.engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("PRAGMA wal_checkpoint(RESTART)")
        copy = path.with_name(f"cut-{number}.db")
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}-wal").write_bytes(kept[log])
        with open_study(copy) as found:
            assert {query.text.split()[0] for query in found.progress().queries} == {str(number)}
