"""Migrations of a study's tables between versions of Rankwell."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from rankwell.core import RankwellError

__all__ = ["bring_up_to_date", "is_current"]


FOLDER = Path(__file__).parent


def is_current(connection: Connection, name: str) -> bool:
    """Whether the tables are those of this version; an error if they are of a later one."""
    found = MigrationContext.configure(connection).get_current_heads()
    script = ScriptDirectory.from_config(_config())
    known = {revision.revision for revision in script.walk_revisions()}
    if not set(found) <= known:
        raise RankwellError(
            f"{name}: expected tables of this version of Rankwell ({', '.join(script.get_heads())}) or an earlier one, "
            f"found {', '.join(found)}: a newer Rankwell made them, use that one"
        )
    return set(found) == set(script.get_heads())


def bring_up_to_date(connection: Connection, name: str) -> None:
    """Create or upgrade the tables, inside the connection's transaction."""
    if is_current(connection, name):  # another process did it
        return
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
