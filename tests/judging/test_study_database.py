from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from small_studies import make_study
from sqlalchemy import text

from rankwell.core import RankwellError
from rankwell.judging import open_study
from rankwell.judging.schema import STUDY, Table
from rankwell.store.database import database_url, open_database, shown


def test_migrations_make_the_tables_that_the_code_expects(address: str, closing) -> None:
    database = closing(open_database(address, STUDY, create=True))
    with database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"target_metadata": Table.metadata})
        assert compare_metadata(context, Table.metadata) == []


def test_opening_again_changes_nothing(address: str) -> None:
    make_study(address).close()
    with open_study(address) as first, open_study(address) as second:
        assert first.study == second.study


def test_tables_of_a_newer_version_are_left_alone(address: str) -> None:
    database = open_database(address, STUDY, create=True)
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(RankwellError, match="found 9999: a newer Rankwell made them"):
        open_database(address, STUDY)


def test_a_missing_database_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"none.db: expected a study's database, found none"):
        open_study(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_database_without_a_study_is_told(sqlite_address: str) -> None:
    open_database(sqlite_address, STUDY, create=True).close()
    with pytest.raises(RankwellError, match="expected a study, found none"):
        open_study(sqlite_address)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("These are my notes, and they are long enough to be taken for a database by nobody." * 10)
    with pytest.raises(
        RankwellError, match=r"notes.db: expected a study's database that opens, found: file is not a database"
    ):
        open_study(path)


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(RankwellError) as told:
        open_study("postgresql://ann:secret@127.0.0.1:1/study")
    assert "expected a study's database that opens" in str(told.value)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("wrong", ["mysql://host/name", "http://host", "sqlite+aiosqlite:///x.db", "://"])
def test_addresses_of_other_databases_are_refused(wrong: str) -> None:
    with pytest.raises(RankwellError, match="expected a file"):
        database_url(wrong)


def test_addresses_are_shown_without_passwords() -> None:
    assert shown(database_url("postgres://ann:secret@host/study")) == "postgresql://ann:***@host/study"
    assert shown(database_url("some/study.db")) == "some/study.db"


def test_nobody_else_may_read_the_file(sqlite_address: str, closing) -> None:
    closing(make_study(sqlite_address))
    for path in Path(sqlite_address).parent.glob("study.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_sqlite_waits_for_the_disk_where_it_must(sqlite_address: str, closing, monkeypatch: pytest.MonkeyPatch) -> None:
    store = closing(make_study(sqlite_address))
    synced = []
    sync = os.fsync
    monkeypatch.setattr("rankwell.store.database.os.fsync", lambda file: (synced.append(file), sync(file)))
    with store.database.write(durable=False) as session:
        assert session.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert session.execute(text("PRAGMA foreign_keys")).scalar_one() == 1
        session.execute(text("UPDATE queries SET text = 'other'"))
    assert len(synced) == 0
    with store.database.write() as session:
        session.execute(text("UPDATE queries SET text = 'another'"))
    assert len(synced) == 1


def test_a_failed_transaction_leaves_nothing_behind(address: str, closing) -> None:
    store = closing(make_study(address))
    with pytest.raises(ZeroDivisionError), store.database.write() as session:  # noqa: PT012 -- the block is the test
        session.execute(text("UPDATE queries SET text = 'gone'"))
        1 / 0  # noqa: B018 -- fails
    assert {query.text for query in store.progress().queries} == {f"question {n}" for n in range(1, 13)}
