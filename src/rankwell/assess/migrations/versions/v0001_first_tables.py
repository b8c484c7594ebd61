"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "assessors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("english", sa.Integer(), nullable=True),
        sa.Column("administrator", sa.Boolean(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("active_at", sa.DateTime(), nullable=False),
        sa.Column("consented_at", sa.DateTime(), nullable=True),
        sa.Column("deleted_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assessors")),
        sa.UniqueConstraint("name", name=op.f("uq_assessors_name")),
    )
    op.create_table(
        "attempts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_at"), "attempts", ["at"], unique=False)
    op.create_index(op.f("ix_attempts_key_hash_at"), "attempts", ["key_hash", "at"], unique=False)
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("assessor", sa.String(length=32), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_table(
        "passages",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("docno", sa.Text(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passages")),
        sa.UniqueConstraint("docno", name=op.f("uq_passages_docno")),
    )
    op.create_table(
        "queries",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("qid", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queries")),
        sa.UniqueConstraint("qid", name=op.f("uq_queries_qid")),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_study_one_study")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
    )
    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assessor_id", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("set", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("assigned_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint("state IN ('open', 'done', 'released')", name=op.f("ck_assignments_state")),
        sa.ForeignKeyConstraint(["assessor_id"], ["assessors.id"], name=op.f("fk_assignments_assessor_id")),
        sa.ForeignKeyConstraint(["query_id"], ["queries.id"], name=op.f("fk_assignments_query_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("assessor_id", "position", name=op.f("uq_assignments_assessor_id_position")),
        sa.UniqueConstraint("assessor_id", "query_id", name=op.f("uq_assignments_assessor_id_query_id")),
    )
    op.create_index(op.f("ix_assignments_query_id"), "assignments", ["query_id"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.Column("administrator", sa.Boolean(), nullable=False),
        sa.Column("assessor_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["assessor_id"], ["assessors.id"], name=op.f("fk_invitations_assessor_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_invitations_code_hash")),
    )
    op.create_index(op.f("ix_invitations_assessor_id"), "invitations", ["assessor_id"], unique=False)
    op.create_table(
        "people",
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("assessor_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["assessor_id"], ["assessors.id"], name=op.f("fk_people_assessor_id")),
        sa.PrimaryKeyConstraint("email", name=op.f("pk_people")),
        sa.UniqueConstraint("assessor_id", name=op.f("uq_people_assessor_id")),
    )
    op.create_table(
        "pool",
        sa.Column("query_id", sa.Integer(), nullable=False),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("original", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["passage_id"], ["passages.id"], name=op.f("fk_pool_passage_id")),
        sa.ForeignKeyConstraint(["query_id"], ["queries.id"], name=op.f("fk_pool_query_id")),
        sa.PrimaryKeyConstraint("query_id", "passage_id", name=op.f("pk_pool")),
    )
    op.create_index(op.f("ix_pool_passage_id"), "pool", ["passage_id"], unique=False)
    op.create_table(
        "presentations",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.Column("shown_at", sa.DateTime(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_presentations_assignment_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["passage_id"], ["passages.id"], name=op.f("fk_presentations_passage_id")),
        sa.PrimaryKeyConstraint("assignment_id", "position", name=op.f("pk_presentations")),
        sa.UniqueConstraint("assignment_id", "passage_id", name=op.f("uq_presentations_assignment_id_passage_id")),
    )
    op.create_table(
        "sign_in_links",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("invitation_id", sa.Integer(), nullable=True),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["invitation_id"], ["invitations.id"], name=op.f("fk_sign_in_links_invitation_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sign_in_links_token_hash")),
    )
    op.create_index(op.f("ix_sign_in_links_email"), "sign_in_links", ["email"], unique=False)
    op.create_index(op.f("ix_sign_in_links_expires_at"), "sign_in_links", ["expires_at"], unique=False)
    op.create_index(op.f("ix_sign_in_links_invitation_id"), "sign_in_links", ["invitation_id"], unique=False)
    op.create_table(
        "grades",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=True),
        sa.Column("given_at", sa.DateTime(), nullable=False),
        sa.Column("undone_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["presentations.assignment_id", "presentations.position"],
            name=op.f("fk_grades_assignment_id_position"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grades")),
    )
    op.create_index(op.f("ix_grades_assignment_id_position"), "grades", ["assignment_id", "position"], unique=False)
