"""The training round: questions with their right grades, and the answers of those who train."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """There are no questions yet, and so no training."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "training",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
    )
    op.create_table(
        "training_answers",
        sa.Column("id", number, primary_key=True),
        sa.Column("assessor_id", sa.Integer(), sa.ForeignKey("assessors.id"), nullable=False),
        sa.Column("training_id", sa.Integer(), sa.ForeignKey("training.id"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("grade", sa.Integer()),
        sa.Column("given_at", sa.DateTime(), nullable=False),
        sa.UniqueConstraint(
            "assessor_id", "attempt", "training_id", name="uq_training_answers_assessor_id_attempt_training_id"
        ),
    )
