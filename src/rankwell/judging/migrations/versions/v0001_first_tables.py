"""The first tables: all that the schema has.

Written out column by column at the first release; from then on each change of the schema is a file of its own.
"""

from __future__ import annotations

from alembic import op

from rankwell.judging.schema import Table

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    Table.metadata.create_all(op.get_bind())
