"""`rankwell train duo`: fine-tune a transformer that compares two documents."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared


def duo(
    pairs: shared.PairsFolder,
    model: shared.Model,
    out: shared.Out,
    others: Annotated[
        int, typer.Option(help="The most less relevant documents that each document is compared with.")
    ] = 8,
    validation_others: Annotated[
        int, typer.Option(help="The most documents that each validation document is compared with.")
    ] = 8,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a query and two documents; all the model takes by default.")
    ] = None,
    query_tokens: Annotated[int | None, typer.Option(help="Tokens of the query, out of these.")] = None,
    validation: shared.Validation = "0.1",
    measure: shared.Measure = "nDCG@10",
    epochs: shared.Epochs = 3,
    steps: shared.Steps = None,
    batch_size: Annotated[int, typer.Option(help="Triples that are run together.")] = 16,
    accumulate: shared.Accumulate = 1,
    lr: shared.Lr = 2e-5,
    warmup: shared.Warmup = 0.1,
    weight_decay: shared.WeightDecay = 0.01,
    dropout: shared.Dropout = None,
    freeze: shared.Freeze = "none",
    evaluate_every: shared.EvaluateEvery = None,
    save_every: shared.SaveEvery = None,
    patience: shared.Patience = None,
    precision: shared.Precision = "auto",
    seed: shared.TrainingSeed = 42,
    keep_checkpoints: shared.KeepCheckpoints = False,
    onnx: shared.Onnx = True,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Fine-tune duoBERT, which says of two documents which one is more relevant."""
    from rankwell.train.duo import DuoSettings, train_duo

    settings = DuoSettings(
        others=others,
        validation_others=validation_others,
        max_tokens=max_tokens,
        query_tokens=query_tokens,
        measure=measure,
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        accumulate=accumulate,
        lr=lr,
        warmup=warmup,
        weight_decay=weight_decay,
        dropout=dropout,
        freeze=freeze,
        evaluate_every=evaluate_every,
        save_every=save_every,
        patience=patience,
        precision=precision,
        seed=seed,
        keep_checkpoints=keep_checkpoints,
        onnx=onnx,
        threads=threads,
    )
    with shared.going_on(out):
        result = train_duo(
            pairs, out, model=model, settings=settings, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
