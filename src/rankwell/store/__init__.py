"""Databases of the web applications: tables, transactions, migrations; SQLite or PostgreSQL."""

from __future__ import annotations

from rankwell.store.database import Database, database_url, open_database
from rankwell.store.migrations import Schema
from rankwell.store.tables import Table, moment, new_metadata, storable

__all__ = ["Database", "Schema", "Table", "database_url", "moment", "new_metadata", "open_database", "storable"]
