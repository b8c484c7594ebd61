"""Backups: of an index (`rankwell backup`, `rankwell restore`), and what `assess` and `review` share of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from rankwell.cli import options
from rankwell.core import ParameterError

if TYPE_CHECKING:
    from rankwell.store import Database, Schema

BackupFile = Annotated[
    Path,
    Argument(
        metavar="FILE",
        help="The backup: JSON lines (.jsonl, .jsonl.gz), or a SQLite database (.db).",
        readable=False,
    ),
]
Replace = Annotated[bool, Option("--replace", help="Replace what is there.")]
Every = Annotated[str | None, Option("--backup-every", metavar="TIME", help="Make a backup this often: 30m, 6h, 1d.")]
Folder = Annotated[
    Path | None,
    Option("--backup-dir", help="Folder of these backups (default: DATABASE.backups beside the file).", readable=False),
]
Kept = Annotated[int, Option("--backups", help="Number of these backups to keep.")]
KEPT = 48


def back_up_database(where: str, schema: Schema, file: Path, *, replace: bool) -> None:
    """Write a backup of a database, also while it is in use."""
    from rankwell.store import back_up, open_database

    database = open_database(where, schema)
    try:
        rows = back_up(database, schema, file, replace=replace)
    finally:
        database.close()
    options.tell(f"{file}: {rows:,} rows of {database.name}")


def restore_database(file: Path, where: str, schema: Schema, *, replace: bool) -> None:
    """Restore a backup into a new database."""
    from rankwell.store import restore as restore_rows

    rows = restore_rows(file, where, schema, replace=replace)
    options.tell(f"{where if '://' not in where else 'the database'}: {rows:,} rows of {file}")


@contextmanager
def snapshots(database: Database, schema: Schema, every: str | None, folder: Path | None, keep: int) -> Iterator[None]:
    """Make backups while the block runs, if asked to."""
    from rankwell.store import Snapshots, parse_interval

    if every is None:
        yield
        return
    file = database.engine.url.database if database.engine.dialect.name == "sqlite" else None
    if folder is None and file is None:
        raise ParameterError("--backup-dir", expected="the folder of the backups", found="nothing")
    place = folder or Path(f"{file}.backups")
    with Snapshots(database, schema, place, parse_interval(every), keep=keep):
        options.tell(f"a backup every {every}: {place}")
        yield


def back_up_index(
    folder: Annotated[Path, Argument(metavar="DIR", help="The index.", readable=False)],
    file: Annotated[
        Path, Argument(metavar="FILE", help="The backup: .tar, or .tar.gz (smaller, slower).", readable=False)
    ],
    judgments: Annotated[
        Path | None,
        Option(help="File of the thumbs (default: DIR.judgments.jsonl, if there is one).", readable=False),
    ] = None,
    replace: Replace = False,
    quiet: options.Quiet = False,
) -> None:
    """Write an index with its vectors, and the search page's judgments, into one file; a server may go on."""
    from rankwell.apps.search.backup import write_backup

    made = write_backup(folder, file, judgments=judgments, replace=replace)
    if not quiet:
        options.tell(f"{file}: {made.files:,} files, {made.documents:,} documents, {made.judgments:,} judgments")


def restore_index(
    file: Annotated[Path, Argument(metavar="FILE", help="A backup that `rankwell backup` made.", readable=False)],
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder of the index: a new one.", readable=False)],
    quiet: options.Quiet = False,
) -> None:
    """Restore an index and its judgments from a backup, into a folder that does not exist yet."""
    from rankwell.apps.search.backup import restore_backup

    made = restore_backup(file, folder)
    if not quiet:
        options.tell(f"{folder}: {made.files:,} files, {made.documents:,} documents, {made.judgments:,} judgments")
