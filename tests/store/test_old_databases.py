"""Databases that Rankwell made before the applications shared one store are opened and brought up to date."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, select

from rankwell.core import RankwellError
from rankwell.judging import open_study
from rankwell.judging.schema import STUDY
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.store import open_project
from rankwell.reviews.screening.tables import PROJECT, DecisionRow
from rankwell.store import Schema, open_database

HERE = Path(__file__).parent


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
