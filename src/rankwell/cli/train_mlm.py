"""`rankwell train mlm`: a model that knows the words of a collection in their company."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared

if TYPE_CHECKING:
    from rankwell.report import Table
    from rankwell.train.mlm import MlmResult


def mlm(
    source: options.Source,
    model: shared.Model,
    out: shared.Out,
    epochs: Annotated[float, typer.Option(help="Passes over the texts.")] = 3.0,
    steps: shared.Steps = None,
    batch_size: Annotated[int, typer.Option(help="Rows of tokens that are run together.")] = 16,
    accumulate: shared.Accumulate = 1,
    max_tokens: Annotated[int, typer.Option(help="Tokens in a row.")] = 128,
    lr: shared.Lr = 5e-5,
    warmup: shared.Warmup = 0.1,
    weight_decay: shared.WeightDecay = 0.01,
    mask_probability: Annotated[float, typer.Option(help="The share of tokens that are to be guessed.")] = 0.15,
    replacement: Annotated[
        str, typer.Option(help="bert (80 % [MASK], 10 % random, 10 % unchanged) or all-mask.")
    ] = "bert",
    random: Annotated[str, typer.Option(help="How random tokens are drawn: uniform or frequency.")] = "uniform",
    whole_words: Annotated[bool, typer.Option("--whole-words", help="Mask words, not single tokens.")] = False,
    freeze: Annotated[
        str, typer.Option(help="none, body (only the head is trained), embeddings, or layers:N.")
    ] = "none",
    held_out: Annotated[float, typer.Option(help="The share of documents that are not learnt from.")] = 0.05,
    measured: Annotated[int, typer.Option(help="How many of these are measured with, at most.")] = 300,
    fill: Annotated[
        list[str] | None, typer.Option("--fill", help="A sentence with [MASK]: show what is put there; several times.")
    ] = None,
    evaluate_every: shared.EvaluateEvery = None,
    save_every: shared.SaveEvery = None,
    patience: shared.Patience = None,
    precision: shared.Precision = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Of new weights, order, dropout and masks.")] = 42,
    keep_checkpoints: shared.KeepCheckpoints = False,
    threads: options.Threads = None,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Adapt a model to a collection: it learns to guess masked words; measured on documents that it did not see."""
    from rankwell.train.mlm import train_mlm
    from rankwell.train.mlm_settings import MlmSettings

    settings = MlmSettings(
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        accumulate=accumulate,
        max_tokens=max_tokens,
        lr=lr,
        warmup=warmup,
        weight_decay=weight_decay,
        mask_probability=mask_probability,
        replacement=replacement,
        random=random,
        whole_words=whole_words,
        freeze=freeze,
        held_out=held_out,
        measured=measured,
        fill=tuple(fill or ()),
        evaluate_every=evaluate_every,
        save_every=save_every,
        patience=patience,
        precision=precision,
        seed=seed,
        keep_checkpoints=keep_checkpoints,
        threads=threads,
        format=format,
        fields=fields,
        id_column=id_column,
        encoding=encoding,
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
