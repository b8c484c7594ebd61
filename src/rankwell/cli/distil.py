"""`rankwell distil`: a small cross-encoder learns from a large one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwell.cli import completing
from rankwell.cli import train_options as shared

if TYPE_CHECKING:
    from pathlib import Path

    from rankwell.train import TrainingResult


@shared.with_training_options(
    validation=shared.Shared(
        Annotated[
            str, typer.Option(help="A folder of labelled pairs, or the share of the queries to hold out; 0 for none.")
        ],
        "0",
    ),
    batch_size=32,
    lr=1e-4,
    dropout=0.0,
)
def distil(
    teacher: Annotated[
        str,
        typer.Argument(
            help="A cross-encoder: a name or folder.", show_default=False, autocompletion=completing.cross_encoders
        ),
    ],
    student: Annotated[
        str,
        typer.Argument(
            help="teacher:6 (of its layers), teacher:3x192 (narrower), a name or folder.", show_default=False
        ),
    ],
    pairs: shared.PairsFolder,
    out: shared.Out,
    method: Annotated[str, typer.Option(help="tinybert, soft, margin-mse or distilbert.")] = "tinybert",
    temperature: Annotated[float, typer.Option(help="What logits are divided by for the soft loss.")] = 4.0,
    weights: Annotated[
        str, typer.Option(help="Other weights of losses: embedding, attention, hidden, cosine, soft=2, margin, hard=0.")
    ] = "",
    layers: Annotated[
        str, typer.Option(help="The teacher's layers to take: evenly, every-second, first, last, or 2,4,6.")
    ] = "evenly",
    targets: Annotated[
        str, typer.Option(help="The teacher's layers that the student's are compared with; as --layers.")
    ] = "evenly",
    list_size: Annotated[int, typer.Option(help="The most documents of a query in a list (margin-mse).")] = 8,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens a pair; 256 by default.")] = None,
    query_tokens: Annotated[int | None, typer.Option(help="Tokens of the query, out of these.")] = None,
    *,
    validation: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train a small cross-encoder on what a large one says, without labels. Goes on after a kill: train resume."""
    from rankwell.train.distil_methods import parse_weights
    from rankwell.train.distillation import DistilSettings
    from rankwell.train.distillation import distil as distil_into

    chosen = DistilSettings(
        method=method,
        temperature=temperature,
        weights=parse_weights(weights),
        layers=layers,
        targets=targets,
        list_size=list_size,
        max_tokens=max_tokens,
        query_tokens=query_tokens,
        **settings,
    )
    with shared.going_on(out):
        held_out = shared.validation_of(validation)
        result = distil_into(teacher, student, pairs, out, settings=chosen, validation=held_out, quiet=quiet)
    shared.tell(result, quiet=quiet)
    if not quiet:
        _tell_of_speed(teacher, result, pairs, chosen.threads)


def _tell_of_speed(teacher: str, result: TrainingResult, pairs: Path, threads: int | None) -> None:
    """What the student saves."""
    from rankwell.train import open_pairs
    from rankwell.train.distil_speed import compare_speed

    for speed in compare_speed([teacher, str(result.folder.model)], open_pairs(pairs), threads=threads):
        print(speed, file=sys.stderr)
