"""Gold questions: passages whose right grade is known, hidden among the others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """No passage has a known grade yet."""
    op.add_column("pool", sa.Column("gold", sa.Integer()))
