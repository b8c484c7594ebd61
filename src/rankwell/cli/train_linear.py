"""`rankwell train linear`: the linear baseline of a re-ranker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options


def linear(
    pairs: Annotated[
        Path, typer.Argument(help="Pairs that `rankwell train pairs` made.", show_default=False, readable=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.", show_default=False, readable=False)],
    longest: Annotated[int, typer.Option(help="Runs of up to so many words, besides the words.")] = 3,
    fewest: Annotated[int, typer.Option("--min-df", help="Leave out what is in fewer texts.")] = 8,
    clean: Annotated[bool, typer.Option("--clean", help="Clean texts first: links, numbers, stop words, lemmas.")] = (
        False
    ),
    penalty: Annotated[
        str, typer.Option(help="C: the lower, the more even the weights. Several: validation decides.")
    ] = "1",
    validation: Annotated[
        str, typer.Option(help="A folder of pairs, or the share of the queries, to choose the penalty with.")
    ] = "0.1",
    balanced: Annotated[bool, typer.Option("--balanced", help="Relevant pairs weigh as much as all others.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of the validation split.")] = 0,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Train TF-IDF + logistic regression: a baseline that is fitted in seconds and re-ranks without a transformer."""
    from rankwell.cli.tune import parse_numbers
    from rankwell.core import Progress
    from rankwell.rerank import Words
    from rankwell.train import LinearSettings, check_new_folder, open_pairs, train_linear
    from rankwell.train.linear_report import penalty_table

    check_new_folder(out)
    penalties = parse_numbers("--penalty", penalty)
    settings = LinearSettings(Words(longest, clean), fewest, penalties[0], balanced)
    training, held_out = open_pairs(pairs), None
    if len(penalties) > 1:
        share = _share(validation)
        training, held_out = training.split(share, seed) if share else (training, open_pairs(validation))
    with Progress("reading pairs", unit="pairs", total=len(training), quiet=quiet) as progress:
        model = train_linear(training, out, settings, validation=held_out, penalties=penalties, progress=progress)
    if held_out is not None:
        print(penalty_table(model).render(output), end="")
    if not quiet:
        print(f"{out}: {len(model.vocabulary):,} terms, of {len(training):,} pairs", file=sys.stderr)


def _share(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
