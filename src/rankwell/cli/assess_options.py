"""Options that the commands of `rankwell assess` share."""

from __future__ import annotations

from typing import Annotated

import typer

StudyDatabase = Annotated[
    str,
    typer.Argument(
        metavar="DATABASE",
        envvar="RANKWELL_DATABASE",
        help="The study's database: a file, or postgresql://USER@HOST/NAME.",
        show_default=False,
    ),
]
