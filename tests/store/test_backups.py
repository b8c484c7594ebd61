"""Backups of studies and projects: made while others write, whole, checked, and restored into either database."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from judging.small_studies import grade_all, join, make_study
from postgres import Postgres
from rankwell.core import ParameterError, RankwellError
from rankwell.judging import open_study
from rankwell.judging.schema import STUDY
from rankwell.judging.store import Store
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.store import open_project
from rankwell.reviews.screening.tables import PROJECT
from rankwell.store import Database, Schema, Snapshots, back_up, parse_interval, restore
from reviews.screening_app.screening_projects import make_project

NAMES = ("backup.jsonl", "backup.jsonl.gz", "backup.db")


@pytest.fixture
def study(address: str) -> Iterator[Store]:
    """A study with people, grades, notes and e-mail addresses."""
    with make_study(address, queries=4, passages=2) as store:
        for number, name in enumerate(join(store, 2)):
            store.judging.begin(name)
            task = store.judging.task(name)
            store.judging.give(name, task.assignment, task.position, 3, note="näh\n\u202ex")
            if number:
                grade_all(store, name, None)
        token = store.sign_in.request_link("ada@example.org", "10.0.0.9", store.invitations.invite())
        assert token is not None
        store.sign_in.sign_in(token, "10.0.0.9")
        yield store


def everything(database: Database, schema: Schema) -> dict[str, list[tuple[Any, ...]]]:
    with database.read() as session:
        rows = {table.name: session.execute(select(table)).all() for table in schema.tables.sorted_tables}
    return {name: sorted(map(tuple, of), key=repr) for name, of in rows.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_study_is_the_study(study: Store, tmp_path: Path, name: str) -> None:
    before = everything(study.database, STUDY)
    rows = back_up(study.database, STUDY, tmp_path / name)
    assert rows == sum(map(len, before.values())) > 20
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert restore(tmp_path / name, tmp_path / "restored.db", STUDY) == rows
    with open_study(tmp_path / "restored.db") as again:
        assert everything(again.database, STUDY) == before
        assert again.answers() == study.answers()
        (newcomer,) = join(again)  # new rows are numbered after the restored ones
        assert again.judging.begin(newcomer)
        grade_all(again, newcomer)
    assert [path.name for path in tmp_path.glob(".*")] == []  # nothing is left over


def test_a_restored_project_is_the_project(address: str, tmp_path: Path) -> None:
    with make_project(address, reviewers=("Ada", "Ben")) as project:
        project.decisions.decide(1, 2, Answer.INCLUDE, note="=1+1")
        project.decisions.decide(2, 2, Answer.EXCLUDE, "outcome")
        project.outcomes.resolve(1, 2, Answer.INCLUDE)
        before = everything(project.database, PROJECT)
        back_up(project.database, PROJECT, tmp_path / "backup.jsonl.gz")
    restore(tmp_path / "backup.jsonl.gz", tmp_path / "restored.db", PROJECT)
    with open_project(tmp_path / "restored.db") as again:
        assert everything(again.database, PROJECT) == before
        assert again.outcomes.all()[2].answer is Answer.INCLUDE
        assert again.decisions.decide(1, 3, Answer.MAYBE)


@pytest.mark.slow
def test_a_study_moves_from_a_file_to_a_server_and_back(postgres: Postgres, tmp_path: Path) -> None:
    with make_study(tmp_path / "here.db", queries=4, passages=2) as store:
        (name,) = join(store)
        store.judging.begin(name)
        grade_all(store, name)
        before = everything(store.database, STUDY)
        back_up(store.database, STUDY, tmp_path / "moving.jsonl")
    server = postgres.new_database("moved")
    restore(tmp_path / "moving.jsonl", server, STUDY)
    with open_study(server) as moved:
        assert everything(moved.database, STUDY) == before
        for name in join(moved, 2):
            moved.judging.begin(name)
            assert grade_all(moved, name) > 0
        later = everything(moved.database, STUDY)
        back_up(moved.database, STUDY, tmp_path / "back.db")
    with open_study(tmp_path / "back.db") as again:  # a database that is ready to use
        assert everything(again.database, STUDY) == later


def test_what_is_there_stays_unless_told(study: Store, tmp_path: Path) -> None:
    back_up(study.database, STUDY, tmp_path / "backup.jsonl")
    with pytest.raises(RankwellError, match=r"backup\.jsonl: expected a new file, found one: .*--replace"):
        back_up(study.database, STUDY, tmp_path / "backup.jsonl")
    (name,) = join(study)
    study.judging.begin(name)
    later = everything(study.database, STUDY)
    where = str(study.database.engine.url.render_as_string(hide_password=False))
    where = where if "postgresql" in where else str(study.database.engine.url.database)
    with pytest.raises(RankwellError, match=r"expected (a new file|an empty database), found .*--replace"):
        restore(tmp_path / "backup.jsonl", where, STUDY)
    assert everything(study.database, STUDY) == later
    restore(tmp_path / "backup.jsonl", where, STUDY, replace=True)
    assert study.people.account(name) is None
    back_up(study.database, STUDY, tmp_path / "backup.jsonl", replace=True)


@pytest.mark.slow
def test_a_backup_is_one_moment_while_others_write(study: Store, tmp_path: Path) -> None:
    """Every presentation of an open query comes with its assignment, and every grade with its presentation."""
    names, enough = join(study, 4), threading.Event()
    for name in names:
        study.judging.begin(name)

    def go_on(name: str) -> None:
        grade = 1
        while not enough.is_set():
            grade = grade % 5 + 1
            for work in study.judging.queries(name):
                study.judging.give(name, work.assignment, study.judging.task(name, work.assignment, 1).position, grade)

    threads = [threading.Thread(target=go_on, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    try:
        for number in range(3):
            back_up(study.database, STUDY, tmp_path / f"{number}.jsonl")
            restore(tmp_path / f"{number}.jsonl", tmp_path / f"{number}.db", STUDY)
    finally:
        enough.set()
        for thread in threads:
            thread.join()
    for number in range(3):
        with open_study(tmp_path / f"{number}.db") as again, sqlite3.connect(tmp_path / f"{number}.db") as plain:
            assert again.answers()
            assert plain.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.fixture
def written(tmp_path: Path) -> Path:
    with make_study(tmp_path / "small.db", queries=2, passages=1) as store:
        back_up(store.database, STUDY, tmp_path / "backup.jsonl")
    return tmp_path / "backup.jsonl"


def test_a_damaged_backup_is_refused_and_leaves_nothing(written: Path, tmp_path: Path) -> None:
    whole = written.read_bytes()
    lines = whole.splitlines(keepends=True)
    packed = gzip.compress(whole)
    damaged = {
        "cut": whole[:-40],
        "without its last line": b"".join(lines[:-1]),
        "without a row": b"".join(lines[:3] + lines[4:]),
        "changed": whole.replace(b"question 1", b"question 9"),
        "cut while compressed": packed[:-20],
        "changed while compressed": packed[:60] + b"\0\0\0\0" + packed[64:],
        "empty": b"",
        "another file": b"qid,docno\n1,2\n",
    }
    for what, content in damaged.items():
        written.write_bytes(content)
        with pytest.raises(RankwellError, match=r"backup\.jsonl: expected a") as told:
            restore(written, tmp_path / "restored.db", STUDY)
        assert "\n" not in str(told.value), what
        assert sorted(path.name for path in tmp_path.iterdir() if "restored" in path.name) == [], what


def test_a_backup_of_another_kind_or_a_newer_version_is_refused(written: Path, tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected a backup of a screening project, found one of another kind"):
        restore(written, tmp_path / "restored.db", PROJECT)
    copy = tmp_path / "copy.db"
    shutil.copy(tmp_path / "small.db", copy)
    with pytest.raises(RankwellError, match=r"copy\.db: expected a screening project, found a database of another"):
        restore(copy, tmp_path / "restored.db", PROJECT)
    with pytest.raises(RankwellError, match="expected a backup, found nothing there"):
        restore(tmp_path / "nothing.jsonl", tmp_path / "restored.db", STUDY)


def test_a_damaged_database_is_no_backup(tmp_path: Path) -> None:
    make_study(tmp_path / "small.db", queries=40, passages=20).close()
    content = bytearray((tmp_path / "small.db").read_bytes())
    content[20_000:24_000] = b"\xff" * 4000
    (tmp_path / "small.db").write_bytes(content)
    with pytest.raises(RankwellError, match=r"small\.db: expected a whole .*found a damaged one"):
        restore(tmp_path / "small.db", tmp_path / "restored.db", STUDY)
    assert not (tmp_path / "restored.db").exists()


def test_a_copy_without_its_log_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy = tmp_path / "copy.db"
    with make_project(tmp_path / "project.db") as project:
        shutil.copy(tmp_path / "project.db", copy)
        with pytest.raises(RankwellError, match=r"copy\.db: expected a screening project, found a copy without its"):
            open_project(copy)
        with project.database.in_use():  # as a server does
            shutil.copy(tmp_path / "project.db", copy)
            project.decisions.decide(1, 2, Answer.INCLUDE)
            open_project(copy).close()
            assert "its log (copy.db-wal) is not here" in caplog.text
            caplog.clear()
            open_project(tmp_path / "project.db").close()  # the project itself has its log
    copy.unlink()
    shutil.copy(tmp_path / "project.db", copy)  # closed: the file is all there is
    with open_project(copy) as again:
        assert again.decisions.of(1)
    assert caplog.text == ""


def test_snapshots_are_made_at_their_time_and_the_oldest_go(tmp_path: Path) -> None:
    with make_study(tmp_path / "small.db", queries=2, passages=1) as store:
        every = timedelta(milliseconds=30)
        with Snapshots(store.database, STUDY, tmp_path / "kept", every, keep=3) as snapshots:
            first = made = snapshots.made()
            while len(made) < 3 or not first or first[0] in made:
                first, made = first or made, snapshots.made()
        assert len(snapshots.made()) == 3
        for number, path in enumerate(snapshots.made()):
            restore(path, tmp_path / f"{number}.db", STUDY)
        with Snapshots(store.database, STUDY, tmp_path / "kept", timedelta(days=1), keep=3) as waiting:
            pass  # not due yet
        assert waiting.made() == snapshots.made()


def test_intervals_are_a_number_and_a_unit() -> None:
    assert [parse_interval(text) for text in ("30m", "6h", "1d")] == [
        timedelta(minutes=30),
        timedelta(hours=6),
        timedelta(days=1),
    ]
    for wrong in ("", "0h", "6", "h", "-1h", "1.5h"):
        with pytest.raises(ParameterError, match="--backup-every: expected a number and a unit"):
            parse_interval(wrong)
