"""The tables of a study's database.

One database holds one study. E-mail addresses stand in `people` and `sign_in_links` and nowhere else; everything that
is exported refers to `assessors`, who have random ids.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from rankwell import store

OPEN, DONE, RELEASED = "open", "done", "released"
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite numbers rows by itself in this type only


class Table(store.Table):
    """Base of a study's tables."""

    __abstract__ = True
    metadata = store.new_metadata()


STUDY = store.Schema(
    "judging", "a study's database", Table.metadata, way_out=": make one with `rankwell assess create`"
)


class StudyRow(Table):
    """The settings of this database's study."""

    __tablename__ = "study"
    __table_args__ = (sa.CheckConstraint("id = 1", name="one_study"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    settings: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class QueryRow(Table):
    """A query to be assessed."""

    __tablename__ = "queries"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    qid: Mapped[str] = mapped_column(unique=True)
    text: Mapped[str]
    stratum: Mapped[str | None]


class PassageRow(Table):
    """A passage with its texts by field name, in reading order."""

    __tablename__ = "passages"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    docno: Mapped[str] = mapped_column(unique=True)
    fields: Mapped[dict[str, str]]


class PoolRow(Table):
    """A passage to be graded for a query; `original` is its grade in the earlier judgments, `gold` the right one."""

    __tablename__ = "pool"

    query_id: Mapped[int] = mapped_column(sa.ForeignKey("queries.id"), primary_key=True)
    passage_id: Mapped[int] = mapped_column(sa.ForeignKey("passages.id"), primary_key=True, index=True)
    rank: Mapped[int | None]
    original: Mapped[int | None]
    gold: Mapped[int | None]


class AssessorRow(Table):
    """An assessor or administrator with a random id. Raising `session` ends the existing sessions."""

    __tablename__ = "assessors"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(32), unique=True)
    english: Mapped[int | None]
    administrator: Mapped[bool] = mapped_column(default=False)
    paused: Mapped[bool] = mapped_column(default=False)
    adjudicator: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    session: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    active_at: Mapped[datetime]
    consented_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]


class PersonRow(Table):
    """The e-mail address of an assessor, kept apart from everything else."""

    __tablename__ = "people"

    email: Mapped[str] = mapped_column(sa.String(320), primary_key=True)
    assessor_id: Mapped[int] = mapped_column(sa.ForeignKey("assessors.id"), unique=True)
    created_at: Mapped[datetime]


class InvitationRow(Table):
    """A code for `places` people, or a return code of one assessor (`assessor_id`). Only its hash is kept."""

    __tablename__ = "invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    code_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    places: Mapped[int] = mapped_column(default=1)
    taken: Mapped[int] = mapped_column(default=0)
    administrator: Mapped[bool] = mapped_column(default=False)
    assessor_id: Mapped[int | None] = mapped_column(sa.ForeignKey("assessors.id"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]


class SignInLinkRow(Table):
    """A mailed link, valid once and for a limited time. Only the hash of its token is kept."""

    __tablename__ = "sign_in_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    email: Mapped[str] = mapped_column(sa.String(320), index=True)
    invitation_id: Mapped[int | None] = mapped_column(sa.ForeignKey("invitations.id"), index=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class AttemptRow(Table):
    """An attempt to sign in, kept as long as it counts; addresses are hashed."""

    __tablename__ = "attempts"
    __table_args__ = (sa.Index(None, "key_hash", "at"),)

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    key_hash: Mapped[str] = mapped_column(sa.String(64))
    at: Mapped[datetime] = mapped_column(index=True)


class AssignmentRow(Table):
    """A query assigned to an assessor: its round, its set, and its position among all of theirs."""

    __tablename__ = "assignments"
    __table_args__ = (
        sa.UniqueConstraint("assessor_id", "query_id"),
        sa.UniqueConstraint("assessor_id", "position"),
        sa.CheckConstraint("state IN ('open', 'done', 'released')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    assessor_id: Mapped[int] = mapped_column(sa.ForeignKey("assessors.id"))
    query_id: Mapped[int] = mapped_column(sa.ForeignKey("queries.id"), index=True)
    position: Mapped[int]
    round: Mapped[int]
    set: Mapped[int]
    state: Mapped[str] = mapped_column(sa.String(8), default=OPEN)
    assigned_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class PresentationRow(Table):
    """The position of a passage in an assignment's random order, when it was last shown, and the assessor's note."""

    __tablename__ = "presentations"
    __table_args__ = (sa.UniqueConstraint("assignment_id", "passage_id"),)

    assignment_id: Mapped[int] = mapped_column(sa.ForeignKey("assignments.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    passage_id: Mapped[int] = mapped_column(sa.ForeignKey("passages.id"))
    shown_at: Mapped[datetime | None]
    note: Mapped[str | None]


class GradeRow(Table):
    """An answer; `grade` None is "I can't tell". Rows are only added: the newest one that is not undone is valid."""

    __tablename__ = "grades"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["presentations.assignment_id", "presentations.position"],
            ondelete="CASCADE",
        ),
        sa.Index(None, "assignment_id", "position"),
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    assignment_id: Mapped[int]
    position: Mapped[int]
    grade: Mapped[int | None]
    milliseconds: Mapped[int | None]
    given_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class AdjudicationRow(Table):
    """The grade that somebody decided on for a passage whose grades differ. Undone decisions stay as history."""

    __tablename__ = "adjudications"
    __table_args__ = (
        sa.Index(
            "one_adjudication",
            *("query_id", "passage_id"),
            unique=True,
            sqlite_where=sa.text("undone_at IS NULL"),
            postgresql_where=sa.text("undone_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    query_id: Mapped[int] = mapped_column(sa.ForeignKey("queries.id"))
    passage_id: Mapped[int] = mapped_column(sa.ForeignKey("passages.id"))
    assessor_id: Mapped[int] = mapped_column(sa.ForeignKey("assessors.id"), index=True)
    grade: Mapped[int]
    note: Mapped[str | None]
    given_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class TrainingRow(Table):
    """A question of the training round, with its right grade and why it is right."""

    __tablename__ = "training"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    query: Mapped[str]
    fields: Mapped[dict[str, str]]
    grade: Mapped[int]
    why: Mapped[str]


class TrainingAnswerRow(Table):
    """An assessor's answer to a question in one of their attempts; `grade` None is "I can't tell"."""

    __tablename__ = "training_answers"
    __table_args__ = (sa.UniqueConstraint("assessor_id", "attempt", "training_id"),)

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    assessor_id: Mapped[int] = mapped_column(sa.ForeignKey("assessors.id"))
    training_id: Mapped[int] = mapped_column(sa.ForeignKey("training.id"))
    attempt: Mapped[int]
    grade: Mapped[int | None]
    given_at: Mapped[datetime]


class SecondAnswerRow(Table):
    """The same assessor's second answer on a passage, without seeing the first; `grade` None is "I can't tell"."""

    __tablename__ = "second_answers"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["presentations.assignment_id", "presentations.position"],
            ondelete="CASCADE",
        ),
    )

    assignment_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    grade: Mapped[int | None]
    given_at: Mapped[datetime]


class EventRow(Table):
    """What an administrator did, and to which assessor; nothing personal."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(sa.String(32))
    assessor: Mapped[str | None] = mapped_column(sa.String(32))
    details: Mapped[dict[str, Any]]


def in_force() -> sa.Select[int]:
    """Select the ids of all valid grades: for each passage of an assignment the newest that was not undone."""
    return (
        sa.select(sa.func.max(GradeRow.id))
        .where(GradeRow.undone_at.is_(None))
        .group_by(GradeRow.assignment_id, GradeRow.position)
    )
