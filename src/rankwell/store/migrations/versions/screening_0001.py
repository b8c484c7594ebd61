"""Screening projects store moments as studies do. Before, they were texts: 2026-05-04T10:11:12+00:00."""

from __future__ import annotations

from alembic import op

revision = "screening_0001"
down_revision = None
branch_labels = ("screening",)
MOMENTS = {
    "project": ("created_at",),
    "imports": ("at",),
    "decisions": ("at", "undone_at"),
    "resolutions": ("at", "undone_at"),
    "duplicates": ("at",),
}


def upgrade() -> None:
    """Rewrite the texts: 2026-05-04 10:11:12.000000. The columns keep their type, which means little to SQLite."""
    for table, columns in MOMENTS.items():
        for column in columns:
            new = f"replace(substr({column}, 1, 19), 'T', ' ') || '.000000'"
            op.execute(f"UPDATE {table} SET {column} = {new} WHERE {column} IS NOT NULL")  # noqa: S608 -- our own names
    op.execute("PRAGMA user_version = 2")  # earlier versions of Rankwell refuse it
