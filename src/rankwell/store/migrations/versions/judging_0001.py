"""The first tables of studies. New databases are made with the tables as they are now."""

from __future__ import annotations

revision = "0001"
down_revision = None
branch_labels = ("judging",)


def upgrade() -> None:
    """There is nothing earlier to change."""
