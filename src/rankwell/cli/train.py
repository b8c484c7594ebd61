"""`rankwell train`: its sub-commands, search over settings, and resuming."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared
from rankwell.cli.train_data import pairs, vocabulary
from rankwell.cli.train_mlm import mlm
from rankwell.core.parameters import Parameter, parameters
from rankwell.models.learning.settings import ValidationSettings
from rankwell.models.linear.training import LinearSettings, LinearValidation, penalty_table, train_linear
from rankwell.training.families import TRAINABLE, FineTuned, kind_named, resume_training
from rankwell.training.search import SearchOptions

if TYPE_CHECKING:
    from rankwell.core import Progress
    from rankwell.training import Search, Searched


@options.declared
def search(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(TRAINABLE)}.")],
    pairs: shared.PairsFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The search's folder; run again to go on.", readable=False)],
    wanted: SearchOptions,
    held_out: ValidationSettings,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE,VALUE,... or, with --random, NAME=LOW..HIGH[:log]. Repeat it for more."),
    ] = None,
    fixed: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE, the same in all settings.")] = None,
    random: Annotated[int | None, typer.Option(help="So many settings at random instead of all.")] = None,
    on: options.On = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Try settings of a training: a grid or at random, with seeds or folds. Finished trainings are never run again."""
    from rankwell.core import Progress
    from rankwell.models.learning.pairs import open_pairs
    from rankwell.training import Search
    from rankwell.training.search_space import (
        parse_settings,
        parse_space,
        search_picture,
        search_table,
        setting_text,
        settings_to_try,
    )

    settings = kind_named(kind).settings
    share = held_out.chosen
    asked = Search(
        kind,
        open_pairs(pairs),
        settings_to_try(parse_space(settings, vary or []), random, wanted.seed),
        base=settings(**parse_settings(settings, fixed or [])),
        validation=open_pairs(share) if isinstance(share, str) else share,
        **vars(wanted),
    )
    with Progress("searching", unit="trainings", total=asked.trainings, quiet=quiet) as progress:
        found = asked.run(out, progress) if on is None else _on(on, asked, out, progress)
    print(search_table(found).render(output), end="")
    search_picture(found).save(out / "settings.png")
    if not quiet:
        declared = parameters(settings)
        chosen = [_written(declared[name], value) for name, value in found.best.setting.items() if value is not None]
        print(f"\nbest: {setting_text(found.best)} ({found.best.cells[0].folder})", file=sys.stderr)
        print(f"to train it on everything: rankwell train {kind} {pairs} {' '.join(chosen)} ...", file=sys.stderr)
        print("it was chosen by the queries it was measured on: expect a little less on new ones", file=sys.stderr)


def _written(parameter: Parameter, value: Any) -> str:
    """A chosen value as an option of the training command."""
    name = parameter.name.replace("_", "-")
    flag = parameter.flags[0] if parameter.flags else f"--{name}"
    if isinstance(value, bool):
        return flag if value else f"--no-{name}" if parameter.default is True else ""
    return f"{flag} {shlex.quote(str(value))}"


def _on(on: str, search: Search, out: Path, progress: Progress) -> Searched:
    """The same with the trainings done by others."""
    from rankwell.ray import search_on

    return search_on(on, search, out, progress)


def resume(
    folder: Annotated[Path, typer.Argument(help="The run's folder.", readable=False)], quiet: options.Quiet = False
) -> None:
    """Continue an interrupted run from its newest complete checkpoint, with its own settings."""
    with shared.going_on(folder):
        result = resume_training(folder, quiet=quiet)
    shared.tell(result, quiet=quiet)


PENALTY = parameters(LinearSettings)["penalty"]


@options.declared
def linear(
    pairs: shared.PairsFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder to write.", readable=False)],
    settings: LinearSettings,
    held_out: LinearValidation,
    penalty: Annotated[
        str, typer.Option(help=f"{PENALTY.help} Of several (0.1,1,10) validation chooses.")
    ] = f"{PENALTY.default:g}",
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Train TF-IDF + logistic regression: a baseline that is fitted in seconds and re-ranks without a transformer."""
    from rankwell.cli.tune import parse_numbers
    from rankwell.core import Progress
    from rankwell.models.learning.folders import check_new_folder
    from rankwell.models.learning.pairs import open_pairs

    check_new_folder(out)
    penalties = parse_numbers("--penalty", penalty)
    settings = replace(settings, penalty=penalties[0])
    training, validation = open_pairs(pairs), None
    if len(penalties) > 1:
        share = held_out.chosen
        if isinstance(share, str) or not share:
            validation = open_pairs(held_out.validation)
        else:
            training, validation = training.split(share, held_out.seed)
    with Progress("reading pairs", unit="pairs", total=len(training), quiet=quiet) as progress:
        model = train_linear(training, out, settings, validation=validation, penalties=penalties, progress=progress)
    if validation is not None:
        print(penalty_table(model).render(output), end="")
    if not quiet:
        print(f"{out}: {len(model.vocabulary):,} terms, of {len(training):,} pairs", file=sys.stderr)


train = typer.Typer(no_args_is_help=True, help="Training: pairs, models, searches over settings.")
train.command("pairs")(pairs)
train.command("linear")(linear)
train.command("vocabulary")(vocabulary)
train.command("mlm")(mlm)
for name, family in TRAINABLE.items():
    if isinstance(family, FineTuned):
        train.command(name)(shared.command_of(family.training))
train.command("resume")(resume)
train.command("search")(search)
