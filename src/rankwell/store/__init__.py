"""Databases of the web applications: tables, transactions, migrations, backups; SQLite or PostgreSQL."""

from __future__ import annotations

from rankwell.store.backup import back_up, restore
from rankwell.store.database import Database, database_url, open_database
from rankwell.store.migrations import Schema
from rankwell.store.snapshots import Snapshots, parse_interval
from rankwell.store.tables import Table, moment, new_metadata, storable

__all__ = [
    "Database",
    "Schema",
    "Snapshots",
    "Table",
    "back_up",
    "database_url",
    "moment",
    "new_metadata",
    "open_database",
    "parse_interval",
    "restore",
    "storable",
]
