"""Judging again: a second answer to a share of one's own grades."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Nobody has judged anything again yet."""
    op.create_table(
        "second_answers",
        sa.Column("assignment_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("grade", sa.Integer()),
        sa.Column("given_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["presentations.assignment_id", "presentations.position"],
            name="fk_second_answers_assignment_id_position",
            ondelete="CASCADE",
        ),
    )
