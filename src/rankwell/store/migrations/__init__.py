"""Create the tables of a database, and bring those of earlier versions up to date (Alembic).

All versions of all schemas are in `versions`: one file for each change, in a branch for each schema. A new database
gets the tables as they are now; only databases of earlier versions run the changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, MetaData, inspect

from rankwell.core import RankwellError

__all__ = ["Schema", "bring_up_to_date", "is_current", "mark_version", "newest_version"]

FOLDER = Path(__file__).parent
ALL_VERSIONS = "heads"


class Schema(NamedTuple):
    """The tables of one application: its branch of the versions, and how errors call its databases."""

    branch: str
    kind: str
    tables: MetaData
    way_out: str = ""


def is_current(connection: Connection, schema: Schema, name: str) -> bool:
    """Whether the tables are those of this version; an error for a later version's and another kind's."""
    script = ScriptDirectory.from_config(_config())
    current = set(MigrationContext.configure(connection).get_current_heads())
    known = {version.revision: version for version in script.iterate_revisions(f"{schema.branch}@head", "base")}
    others = {version.revision for version in script.walk_revisions("base", ALL_VERSIONS)} - set(known)
    if current & others or not (current or _is_ours_or_empty(connection, schema)):
        raise RankwellError(f"{name}: expected {schema.kind}, found a database of another kind")
    newest = next(iter(known))
    if not current <= set(known):
        raise RankwellError(
            f"{name}: expected tables of this version of Rankwell ({newest}) or an earlier one, "
            f"found {', '.join(map(str, current))}: a newer Rankwell made them, use that one"
        )
    return current == {newest}


def newest_version(schema: Schema) -> str:
    """The version of the tables as they are now."""
    script = ScriptDirectory.from_config(_config())
    return str(next(script.iterate_revisions(f"{schema.branch}@head", "base")).revision)


def mark_version(connection: Connection, version: str) -> None:
    """Write down that the tables are those of a version; an error where there is no such version."""
    try:
        command.stamp(_config(connection), version)
    except CommandError as error:
        raise RankwellError(f"tables of version {version}: a newer Rankwell made them, use that one") from error


def bring_up_to_date(connection: Connection, schema: Schema, name: str) -> None:
    """Create or upgrade the tables, inside the connection's transaction."""
    if is_current(connection, schema, name):  # another process did it
        return
    if set(schema.tables.tables) & set(inspect(connection).get_table_names()):
        command.upgrade(_config(connection), f"{schema.branch}@head")
    else:
        schema.tables.create_all(connection)
        command.stamp(_config(connection), f"{schema.branch}@head")


def _is_ours_or_empty(connection: Connection, schema: Schema) -> bool:
    """Whether a database without a version may be used. A server's may hold tables of others, a file may not."""
    tables = set(inspect(connection).get_table_names())
    return tables <= set(schema.tables.tables) or connection.dialect.name != "sqlite"


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
