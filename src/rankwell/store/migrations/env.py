"""Alembic runs this to migrate; the connection, and its transaction, are the caller's."""

from __future__ import annotations

from alembic import context

# SQLite changes a column by making the table anew, which is Alembic's batch mode.
context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
context.run_migrations()
