"""`rankwell train search`: try settings, with several seeds or folds, and say which is best and how sure that is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared

if TYPE_CHECKING:
    from rankwell.core import Progress
    from rankwell.train import Pairs, Search, Searched


def search(
    kind: Annotated[str, typer.Argument(help="cross-encoder, bi-encoder or linear.", show_default=False)],
    pairs: shared.PairsFolder,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The search's folder; run again to go on.", show_default=False, readable=False
        ),
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE,VALUE,... or, with --random, NAME=LOW..HIGH[:log]. Repeat it for more."),
    ] = None,
    fixed: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE, the same in all settings.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to start from.")] = None,
    random: Annotated[int | None, typer.Option(help="So many settings at random instead of all.")] = None,
    seeds: Annotated[int, typer.Option(help="Train each setting so many times, with other seeds.")] = 1,
    folds: Annotated[int | None, typer.Option(help="Hold every query out once, in so many parts.")] = None,
    validation: Annotated[
        str, typer.Option(help="The share of the queries to hold out, or a folder of pairs.")
    ] = "0.1",
    measure: shared.Measure = "nDCG@10",
    seed: Annotated[int, typer.Option(help="The first seed.")] = 42,
    on: options.On = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Try settings of a training: a grid or at random, with seeds or folds. Finished trainings are never run again."""
    from rankwell.core import Progress
    from rankwell.train import Search, open_pairs
    from rankwell.train.search_report import search_picture, search_table, setting_text
    from rankwell.train.search_space import parse_settings, parse_space, settings_to_try
    from rankwell.train.trainable import kind_named

    settings = kind_named(kind).settings
    asked = Search(
        kind,
        open_pairs(pairs),
        settings_to_try(parse_space(settings, vary or []), random, seed),
        model=model,
        base=settings(**parse_settings(settings, fixed or [])),
        measure=measure,
        validation=_share_or_pairs(validation),
        folds=folds,
        seeds=seeds,
        seed=seed,
    )
    with Progress("searching", unit="trainings", total=asked.trainings, quiet=quiet) as progress:
        found = asked.run(out, progress) if on is None else _on(on, asked, out, progress)
    print(search_table(found).render(output), end="")
    search_picture(found).save(out / "settings.png")
    if not quiet:
        chosen = [f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in found.best.setting.items()]
        print(f"\nbest: {setting_text(found.best)} ({found.best.cells[0].folder})", file=sys.stderr)
        print(f"to train it on everything: rankwell train {kind} {pairs} {' '.join(chosen)} ...", file=sys.stderr)
        print("it was chosen by the queries it was measured on: expect a little less on new ones", file=sys.stderr)


def _on(on: str, search: Search, out: Path, progress: Progress) -> Searched:
    """The same with the trainings done by others."""
    from rankwell.scale import search_on

    return search_on(on, search, out, progress)


def _share_or_pairs(told: str) -> Pairs | float:
    from rankwell.train import open_pairs

    found = shared.validation_of(told)
    return open_pairs(found) if isinstance(found, str) else found
