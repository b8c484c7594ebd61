"""Adjudication: who may decide between grades that differ, and what they decided."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Nobody is an adjudicator yet, and nothing is decided."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("assessors", sa.Column("adjudicator", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "adjudications",
        sa.Column("id", number, primary_key=True),
        sa.Column("query_id", sa.Integer(), sa.ForeignKey("queries.id"), nullable=False),
        sa.Column("passage_id", sa.Integer(), sa.ForeignKey("passages.id"), nullable=False),
        sa.Column("assessor_id", sa.Integer(), sa.ForeignKey("assessors.id"), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("given_at", sa.DateTime(), nullable=False),
        sa.Column("undone_at", sa.DateTime()),
    )
    valid = sa.text("undone_at IS NULL")
    op.create_index(
        "one_adjudication",
        "adjudications",
        ["query_id", "passage_id"],
        unique=True,
        sqlite_where=valid,
        postgresql_where=valid,
    )
    op.create_index("ix_adjudications_assessor_id", "adjudications", ["assessor_id"])
