"""Databases that Rankwell made before the applications shared one store are opened and brought up to date."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, select

from judging.small_studies import make_study
from postgres import Postgres
from rankwell.core import RankwellError
from rankwell.judging import open_study
from rankwell.judging.schema import STUDY
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.store import open_project
from rankwell.reviews.screening.tables import PROJECT, DecisionRow
from rankwell.store import Schema, back_up, open_database, restore

HERE = Path(__file__).parent
NEW_TABLES = (
    "adjudications",
    "training_answers",
    "training",
    "second_answers",
)  # since the version of landed_study.sql
NEW_COLUMNS = (("assessors", "adjudicator"), ("pool", "gold"))


def made_from(dump: str, path: Path) -> Path:
    """A database with the tables and rows of a dump."""
    connection = sqlite3.connect(path)
    connection.executescript((HERE / dump).read_text())
    connection.close()
    return path


@pytest.fixture
def old_project(tmp_path: Path) -> Path:
    return made_from("old_project.sql", tmp_path / "project.db")


@pytest.fixture
def old_study(tmp_path: Path) -> Path:
    return made_from("old_study.sql", tmp_path / "study.db")


def differences(path: Path, schema: Schema) -> list[object]:
    """How the tables differ from those that the code expects, types aside: to SQLite they mean little."""
    database = open_database(path, schema)
    with database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": False})
        found: list[object] = compare_metadata(context, schema.tables)
    database.close()
    return found


def test_an_old_study_is_as_it_was(old_study: Path) -> None:
    with open_study(old_study) as store:
        assert store.study.title == "A study"
        assert [(row.qid, row.docno, row.grade) for row in store.answers()] == [("q1", "d1", 4)]
        assert store.answers()[0].given_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
        (account,) = store.people.accounts()
        assert store.judging.task(account.name).answered == 1
    assert differences(old_study, STUDY) == []


def test_an_old_project_is_as_it_was(old_project: Path) -> None:
    for _ in range(2):  # the first time brings it up to date
        with open_project(old_project) as project:
            assert project.settings.title == "Exercise"
            assert [reviewer.name for reviewer in project.reviewers()] == ["Ada", "Ben"]
            assert [record.reference.title for record in project.records.all()] == ["One", "Two", "One"]
            assert project.duplicates.set_aside() == {3}
            (outcome,) = project.outcomes.all().values()
            assert (outcome.record, outcome.conflict, outcome.answer) == (1, True, Answer.INCLUDE)
            assert project.decisions.history() == 3
    assert differences(old_project, PROJECT) == []


def test_a_study_of_the_version_before_adjudication_goes_on(tmp_path: Path) -> None:
    path = made_from("landed_study.sql", tmp_path / "study.db")
    with open_study(path) as store:
        assert sorted(row.grade for row in store.answers()) == [1, 1, 1, 1, 5, 5, 5, 5]
        assert {row.adjudicated for row in store.answers()} == {None}
        boss = store.invitations.redeem(store.invitations.invite(administrator=True), "10.0.0.9").account.name
        case = store.adjudication.queue(boss)[0]
        store.adjudication.decide(boss, case.query_id, case.passage_id, 4)
        assert [one.grade for one in store.adjudications()] == [4]
    assert differences(path, STUDY) == []


def test_a_project_of_the_version_before_goes_on(tmp_path: Path) -> None:
    path = made_from("landed_project.sql", tmp_path / "project.db")
    with open_project(path) as project:
        assert project.outcomes.all()[2].answer is Answer.INCLUDE
        assert project.decisions.decide(1, 3, Answer.MAYBE)
    assert differences(path, PROJECT) == []


@pytest.mark.slow
def test_a_study_on_a_server_of_the_version_before_is_brought_up_to_date(postgres: Postgres) -> None:
    address = postgres.new_database("landed")
    make_study(address, queries=1, passages=1).close()
    with psycopg.connect(address) as connection:  # as the version before left it
        for table in NEW_TABLES:
            connection.execute(f"DROP TABLE {table}")
        for table, column in NEW_COLUMNS:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    with open_study(address) as store:
        assert store.adjudications() == []
        with store.database.read() as session:
            assert compare_metadata(MigrationContext.configure(session.connection()), STUDY.tables) == []


def test_a_backup_of_the_version_before_is_brought_up_to_date(tmp_path: Path) -> None:
    with open_study(made_from("landed_study.sql", tmp_path / "study.db")) as store:
        before = store.answers()
        back_up(store.database, STUDY, tmp_path / "backup.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "backup.jsonl").read_text().splitlines()][:-1]
    lines[0]["version"] = "0001"
    older, table, gone = [], "", []
    for line in lines:  # without what is new
        if "table" in line:
            table, columns = line["table"], line["columns"]
            gone = [columns.index(name) for of, name in NEW_COLUMNS if of == table]
            line["columns"] = [name for place, name in enumerate(columns) if place not in gone]
        elif isinstance(line, list):
            for place in sorted(gone, reverse=True):
                del line[place]
        if table not in NEW_TABLES:
            older.append(json.dumps(line) + "\n")
    rows = sum(line.startswith("[") for line in older)
    digest = hashlib.sha256("".join(older).encode()).hexdigest()
    older.append(f'{{"rows":{rows},"sha256":"{digest}"}}\n')
    (tmp_path / "older.jsonl").write_text("".join(older))
    restore(tmp_path / "older.jsonl", tmp_path / "restored.db", STUDY)
    with open_study(tmp_path / "restored.db") as store:
        assert store.answers() == before
    assert differences(tmp_path / "restored.db", STUDY) == []
    (tmp_path / "newer.jsonl").write_text((tmp_path / "older.jsonl").read_text().replace('"0001"', '"9999"'))
    with pytest.raises(RankwellError, match="cut off or changed"):
        restore(tmp_path / "newer.jsonl", tmp_path / "again.db", STUDY)


def test_moments_of_an_old_project_are_stored_as_new_ones_are(old_project: Path) -> None:
    with open_project(old_project) as project:
        assert project.records.sources()[0].at == datetime(2026, 11, 17, 22, 11, 14, tzinfo=UTC)
        project.decisions.decide(1, 2, Answer.EXCLUDE)
        with project.database.read() as session:
            moments = session.scalars(select(DecisionRow.at).order_by(DecisionRow.at)).all()
            stored = session.connection().exec_driver_sql("SELECT at FROM decisions").scalars().all()
        assert all(moment.tzinfo is UTC for moment in moments)
        assert {len(text) for text in stored} == {len("2026-11-17 22:11:14.000000")}
        assert project.decisions.undo(1) == 2


def test_a_study_is_no_project_and_a_project_is_no_study(old_study: Path, old_project: Path) -> None:
    with pytest.raises(
        RankwellError, match=r"study\.db: expected a screening project, found a database of another kind"
    ):
        open_project(old_study)
    for _ in range(2):  # without a version, and with one
        with pytest.raises(RankwellError, match=r"expected a study's database, found a database of another kind"):
            open_study(old_project)
        open_project(old_project).close()


def test_a_file_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE things (name)")
    other.close()
    before = path.read_bytes()
    for schema in (STUDY, PROJECT):
        with pytest.raises(RankwellError, match="found a database of another kind"):
            open_database(path, schema, create=True)
        assert path.read_bytes() == before


@pytest.mark.parametrize("schema", [STUDY, PROJECT], ids=lambda schema: schema.branch)
def test_a_new_database_has_the_tables_that_the_code_expects(address: str, schema: Schema) -> None:
    database = open_database(address, schema, create=True)
    with database.read() as session:
        context = MigrationContext.configure(session.connection())
        assert compare_metadata(context, schema.tables) == []
        found = MetaData()
        found.reflect(session.connection())
    database.close()
    assert set(found.tables) == {*schema.tables.tables, "alembic_version"}
