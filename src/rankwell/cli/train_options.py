"""What all training commands share: arguments, and what they print."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwell.cli import options
from rankwell.models.learning.settings import ValidationSettings
from rankwell.models.learning.trainer import Training, TrainingResult

PairsFolder = Annotated[Path, typer.Argument(metavar="PAIRS", help="Made by rankwell train pairs.", readable=False)]
Model = Annotated[str, typer.Option(help="Model to start from: a folder, a short name or a hub id.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="New folder for the run.", readable=False)]


def command_of(training: Training[Any]) -> Callable[..., None]:
    """The command that trains a family; its options are the declared parameters of the family's settings."""

    def train(
        pairs: PairsFolder,
        model: Model,
        out: Out,
        settings: Any,
        held_out: ValidationSettings,
        quiet: options.Quiet = False,
    ) -> None:
        with going_on(out):
            result = training(pairs, out, model=model, settings=settings, validation=held_out.chosen, quiet=quiet)
        tell(result, quiet=quiet)

    train.__annotations__["settings"] = training.settings
    train.__doc__ = f"{training.about} rankwell train resume continues an interrupted run."
    return options.declared(train)


@contextlib.contextmanager
def going_on(out: Path) -> Iterator[None]:
    """Say after Ctrl-C how to go on."""
    try:
        yield
    except Exception:
        raise
    except BaseException as interruption:
        if (out / "configuration.json").is_file():
            interruption.add_note(f"go on with rankwell train resume {out}")
        raise


def tell(result: TrainingResult, *, quiet: bool) -> None:
    """The model's folder, and how good it is."""
    print(result.folder.model)
    if quiet:
        return
    early = ", stopped early" if result.stopped_early else ""
    kept = f", the weights after step {result.best:,} are kept" if result.best is not None else ""
    print(f"{result.steps:,} steps in {result.seconds:,.0f} s{early}{kept}", file=sys.stderr)
    for name, value in result.measures.items():
        before = f" (before training {result.before[name]:.4f})" if name in result.before else ""
        print(f"validation {name}: {value:.4f}{before}", file=sys.stderr)
