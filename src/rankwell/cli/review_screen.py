"""`rankwell review screen`: screen records for a review, in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli.options import Quiet

if TYPE_CHECKING:
    from rankwell.reviews.screening.store import Project


def screen(
    project: Annotated[
        Path,
        typer.Argument(
            help="The project: a file that is made where there is none.", show_default=False, readable=False
        ),
    ],
    imported: Annotated[
        list[str] | None,
        typer.Option(
            "--import", help="Records to add: RIS, CSV, .nbib, or any collection. May be given several times."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the review is about; the ranking starts from it.")] = None,
    reviewer: Annotated[
        list[str] | None, typer.Option(help="Who screens. May be given twice: each gets a link of their own.")
    ] = None,
    bert: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also let this model read the records, in the background: a short name or a folder.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8000,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Only import; do not open the pages.")] = False,
    quiet: Quiet = False,
) -> None:
    """Screen records in the browser until Ctrl-C: the ranking learns from every decision."""
    from rankwell.core import MissingExtraError

    try:
        from rankwell.reviews.screening.store import open_project
    except ImportError as error:
        raise MissingExtraError("screening", extra="reviews") from error

    if bert is not None:
        _check_model(bert)
    with open_project(project, title=title, reviewers=reviewer or ()) as opened:
        for source in imported or ():
            _add(opened, source, quiet=quiet)
        if no_serve:
            return
        from rankwell.reviews.screening.app.server import run

        run(opened, model=bert, host=host, port=port, quiet=quiet, tell=_tell)


def _check_model(name: str) -> None:
    """A model that is not there is told at once, and not by a thread."""
    from rankwell.encode import find_model

    find_model(name)


def _add(project: Project, source: str, *, quiet: bool) -> None:
    """Import a file, and say what came of it."""
    from rankwell.cli.session import reading
    from rankwell.core import Progress
    from rankwell.reviews.screening.importing import read_records

    with reading(f"reading {source}", "records", quiet=quiet) as how:
        references = read_records(source, how)
    with Progress("looking for duplicates", unit="records", total=len(references), quiet=quiet) as progress:
        found = project.import_references(Path(source).name or source, references, progress)
    _tell(f"{source}: {found.read:,} records, {found.duplicates:,} duplicates set aside, {found.doubtful:,} to look at")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
