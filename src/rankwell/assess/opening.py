"""Making and opening studies; the database's libraries are loaded here, when they are needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.assess.material import ReadDocuments, read_material
from rankwell.assess.study_file import read_study_file
from rankwell.collections import Reading
from rankwell.core import MissingExtraError

if TYPE_CHECKING:
    from rankwell.assess.store import Store


def create_study(
    file: Path | str,
    database: Path | str,
    *,
    queries: str | None = None,
    collection: str | None = None,
    documents: ReadDocuments | None = None,
    reading: Reading | None = None,
) -> Store:
    """Make the study of a file in a new database, and open it.

    `queries` and `collection` stand in for those that the file names, and are meant from the current folder.
    `documents` finds the texts of passages by their ids where that is not a collection to be read through.
    """
    _need_database()
    from rankwell.assess.creation import write_study_database
    from rankwell.assess.store import Store

    found = read_study_file(file)
    if queries is not None:
        found = replace(found, queries=_from_here(queries))
    if collection is not None:
        found = replace(found, collection=_from_here(collection))
    material = read_material(found, documents, reading)
    return Store(write_study_database(found.study, material, database))


def open_study(database: Path | str) -> Store:
    """Open a study: its database's file, or its `postgresql://` address."""
    _need_database()
    from rankwell.assess.store import open_store

    return open_store(database)


def _from_here(source: str) -> str:
    path = Path(source)
    return str(path.absolute()) if path.exists() else source


def _need_database() -> None:
    try:
        import alembic
        import sqlalchemy
    except ImportError as error:
        raise MissingExtraError("a study's database", extra="assess") from error
    del alembic, sqlalchemy
