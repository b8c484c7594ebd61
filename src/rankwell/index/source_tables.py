"""How the tables of an index were read, kept beside its manifest, so that the next file is read alike."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from rankwell.collections.table_reading import TableReading
from rankwell.core import RankwellError, atomic_write

NAME = "tables.json"
VERSION = 1


def read_tables(folder: Path) -> tuple[TableReading, ...]:
    """The tables that were read into an index; none for an index of other sources, or of an older Rankwell."""
    path = folder / NAME
    try:
        values = orjson.loads(path.read_bytes())
        return tuple(map(TableReading.from_json, values["tables"]))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        problem = f"expected how tables were read, found something else ({error})"
        raise RankwellError(f"{path}: {problem}: remove it to read the next file by its own values") from error


def keep_tables(folder: Path, tables: Iterable[TableReading]) -> None:
    """Keep how these tables were read, beside those that are kept; one of the same columns replaces the old one."""
    by_columns = {tuple(column.name for column in table.columns): table for table in (*read_tables(folder), *tables)}
    if by_columns:
        content = {"version": VERSION, "tables": [table.for_json() for table in by_columns.values()]}
        with atomic_write(folder / NAME) as file:
            file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
