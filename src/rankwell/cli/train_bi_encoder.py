"""`rankwell train bi-encoder`: fine-tune a transformer to put queries and their documents close together."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared


def bi_encoder(
    pairs: shared.PairsFolder,
    model: shared.Model,
    out: shared.Out,
    pooling: Annotated[str | None, typer.Option(help="cls, max or mean; the model's own by default.")] = None,
    negatives: Annotated[int, typer.Option(help="Hard negatives of each query that join the batch.")] = 1,
    scale: Annotated[float, typer.Option(help="What cosines are multiplied by.")] = 20.0,
    query_prompt: Annotated[
        str | None, typer.Option(help="Put in front of queries; the model's own by default.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens a text; 256 by default.")] = None,
    validation: shared.Validation = "0.1",
    measure: shared.Measure = "nDCG@10",
    epochs: shared.Epochs = 3,
    steps: shared.Steps = None,
    batch_size: Annotated[int, typer.Option(help="Queries that are run together; the more, the harder.")] = 32,
    accumulate: shared.Accumulate = 1,
    lr: shared.Lr = 2e-5,
    warmup: shared.Warmup = 0.1,
    weight_decay: shared.WeightDecay = 0.01,
    dropout: shared.Dropout = None,
    freeze: Annotated[str, typer.Option(help="What stays as it is: none, embeddings, layers:N.")] = "none",
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
    """Fine-tune a transformer that makes vectors of texts, for rankwell encode and search --dense."""
    from rankwell.train.bi_encoder import BiEncoderSettings, train_bi_encoder

    settings = BiEncoderSettings(
        pooling=pooling,
        negatives=negatives,
        scale=scale,
        query_prompt=query_prompt,
        max_tokens=max_tokens,
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
        result = train_bi_encoder(
            pairs, out, model=model, settings=settings, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
