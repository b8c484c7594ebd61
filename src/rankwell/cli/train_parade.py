"""`rankwell train parade`: fine-tune a transformer to rank long documents, passages read together."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared


def parade(
    pairs: shared.PairsFolder,
    model: shared.Model,
    out: shared.Out,
    aggregate: Annotated[
        str, typer.Option(help="How passages become a document: avg, max, attn or transformer.")
    ] = "transformer",
    passages: Annotated[
        str, typer.Option(help="How documents are split: words:overlap; as the pairs were, if they are passages.")
    ] = "150:50",
    most_passages: Annotated[
        int, typer.Option(help="Of more passages the first, the last and some between them are read.")
    ] = 16,
    loss: Annotated[
        str, typer.Option(help="bce, or over lists: ranknet, margin, margin-mse, listnet, softmax, lambda.")
    ] = "bce",
    list_size: Annotated[int, typer.Option(help="The most documents of a query in a list.")] = 8,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of a passage and its query; 256 by default.")] = None,
    query_tokens: Annotated[int | None, typer.Option(help="Tokens of the query, out of these.")] = None,
    validation: shared.Validation = "0.1",
    measure: shared.Measure = "nDCG@10",
    epochs: shared.Epochs = 3,
    steps: shared.Steps = None,
    batch_size: Annotated[int, typer.Option(help="Documents that are run together.")] = 8,
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
    """Fine-tune PARADE, which reads a long document in passages and judges it as one."""
    from rankwell.train.parade import ParadeSettings, train_parade

    settings = ParadeSettings(
        aggregate=aggregate,
        passages=passages,
        most_passages=most_passages,
        loss=loss,
        list_size=list_size,
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
        result = train_parade(
            pairs, out, model=model, settings=settings, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
