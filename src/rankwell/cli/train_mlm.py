"""`rankwell train mlm` and `rankwell distil`: adapt a model to a collection, and train a small one on a large one."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import completing, options
from rankwell.cli import train_options as shared
from rankwell.models.distillation.training import DistilSettings, DistilValidation
from rankwell.models.language_model.settings import MlmSettings

if TYPE_CHECKING:
    from pathlib import Path

    from rankwell.models.language_model.training import MlmResult
    from rankwell.models.learning.trainer import TrainingResult
    from rankwell.report import Table


@options.declared
def mlm(
    source: options.Source,
    model: shared.Model,
    out: shared.Out,
    settings: MlmSettings,
    fill: Annotated[
        list[str] | None, typer.Option("--fill", help="A sentence with [MASK]: show what is put there; several times.")
    ] = None,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Adapt a model to a collection by masked language modelling; it is measured on held-out documents."""
    from rankwell.models.language_model.training import train_mlm

    settings = replace(
        settings, fill=tuple(fill or ()), format=format, fields=fields, id_column=id_column, encoding=encoding
    )
    with shared.going_on(out):
        result = train_mlm(source, model, out, settings, quiet=quiet)
    print("\n".join(table.render(output) for table in tables(result)), end="")
    if not quiet:
        print(f"{result.training.folder.model}: {result.training.steps:,} steps", file=sys.stderr)


def tables(result: MlmResult) -> list[Table]:
    """Held-out figures before and after, and what was put into gaps."""
    from rankwell.report import Column, Table

    training, found = result.training, result.adaptation
    rows = []
    for name, measures, answers in (
        ("before", training.before, found.before),
        ("after", training.measures, found.after),
    ):
        low, high = answers.bits.interval()
        rows.append((name, measures.get("perplexity"), answers.bits.per_character, f"{low:.3f} to {high:.3f}"))
    about = f"{len(found.after.bits.documents):,} held-out documents, {int(found.after.bits.words.sum()):,} words"
    columns = [Column("training", "left"), Column("perplexity", digits=2), Column("bits per character", digits=3)]
    made = [Table(f"Guessing words of {about}", [*columns, Column("95 % interval")], rows)]
    gaps = [
        (sentence, when, ", ".join(f"{filling.token} {filling.probability:.2f}" for filling in gap))
        for sentence in found.after.fillings
        for when, answers in (("before", found.before), ("after", found.after))
        for gap in answers.fillings[sentence]
    ]
    if gaps:
        made.append(
            Table("Gaps", [Column("sentence", "left"), Column("training", "left"), Column("filled with", "left")], gaps)
        )
    return made


@options.declared
def distil(
    teacher: Annotated[
        str, typer.Argument(help="A cross-encoder: a name or folder.", autocompletion=completing.cross_encoders)
    ],
    student: Annotated[
        str, typer.Argument(help="teacher:6 (of its layers), teacher:3x192 (narrower), a name or folder.")
    ],
    pairs: shared.PairsFolder,
    out: shared.Out,
    settings: DistilSettings,
    held_out: DistilValidation,
    quiet: options.Quiet = False,
) -> None:
    """Train a small cross-encoder on the scores of a large one, without labels. train resume continues a run."""
    from rankwell.models.distillation.training import distil as distil_into

    validation = held_out.chosen
    with shared.going_on(out):
        result = distil_into(teacher, student, pairs, out, settings=settings, validation=validation, quiet=quiet)
    shared.tell(result, quiet=quiet)
    if not quiet:
        _tell_of_speed(teacher, result, pairs, settings.threads)


def _tell_of_speed(teacher: str, result: TrainingResult, pairs: Path, threads: int | None) -> None:
    """What the student saves."""
    from rankwell.models.distillation.speed import compare_speed
    from rankwell.models.learning.pairs import open_pairs

    for speed in compare_speed([teacher, str(result.folder.model)], open_pairs(pairs), threads=threads):
        print(speed, file=sys.stderr)
