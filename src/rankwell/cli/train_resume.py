"""`rankwell train resume`: go on with a run that was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared


def resume(
    folder: Annotated[Path, typer.Argument(help="The run's folder.", show_default=False, readable=False)],
    quiet: options.Quiet = False,
) -> None:
    """Go on with a run that was killed, from its newest complete checkpoint, with the settings it was begun with."""
    from rankwell.train.resume import resume_training

    with shared.going_on(folder):
        result = resume_training(folder, quiet=quiet)
    shared.tell(result, quiet=quiet)
