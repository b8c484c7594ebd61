"""`rankwell assess serve`: the judging pages."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rankwell.cli.assess_options import StudyDatabase
from rankwell.cli.options import Quiet


def serve(
    database: StudyDatabase,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8000,
    base_url: Annotated[
        str | None,
        typer.Option(help="The address people use, where a proxy stands before us: https://judge.example.org"),
    ] = None,
    admin: Annotated[
        str | None, typer.Option(help="Print a link that signs this e-mail address in as administrator.")
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure", help="Cookies over HTTPS only (given an https:// address, always).")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Serve the judging pages until Ctrl-C; people come in by invitation, and by e-mail with RANKWELL_SMTP_HOST."""
    from rankwell.assess import open_study

    with open_study(database) as study:
        from rankwell.assess.app.server import run

        run(
            study,
            host=host,
            port=port,
            base_url=base_url,
            admin=admin,
            secure=secure,
            quiet=quiet,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
