"""Alembic runs this to migrate; the connection, and its transaction, are the caller's."""

from __future__ import annotations

from alembic import context

from rankwell.judging.schema import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,  # SQLite changes a column by making the table anew
)
context.run_migrations()
