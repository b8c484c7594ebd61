"""`rankwell train architecture`: the four document rankers of S3, which read query, title and abstracts."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli import train_options as shared


def architecture(
    pairs: shared.PairsFolder,
    model: shared.Model,
    out: shared.Out,
    kind: Annotated[
        str, typer.Option(help="interaction, representation, dual-interaction or triple-representation.")
    ] = "interaction",
    texts: Annotated[
        str | None, typer.Option(help="QA (query, abstract; the default) or QTA (with the title), for interactions.")
    ] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Clean the texts first, as S3 did.")] = False,
    least_words: Annotated[int, typer.Option(help="Do not train on abstracts of fewer words.")] = 0,
    most_words: Annotated[int | None, typer.Option(help="Read only so many words of an abstract.")] = None,
    shared_encoder: Annotated[
        bool, typer.Option("--shared", help="One encoder for all inputs, instead of one for each.")
    ] = False,
    head_ratio: Annotated[
        float, typer.Option(help="With --freeze head: the size of each of its layers to that of the one before.")
    ] = 0.75,
    loss: Annotated[
        str, typer.Option(help="bce, or over lists: ranknet, margin, margin-mse, listnet, softmax, lambda.")
    ] = "bce",
    list_size: Annotated[int, typer.Option(help="The most documents of a query in a list.")] = 8,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of each input; 256 by default.")] = None,
    query_tokens: Annotated[int | None, typer.Option(help="Tokens of a query beside a text, out of these.")] = None,
    validation: shared.Validation = "0.1",
    measure: shared.Measure = "AP",
    epochs: shared.Epochs = 3,
    steps: shared.Steps = None,
    batch_size: shared.BatchSize = 16,
    accumulate: shared.Accumulate = 1,
    lr: shared.Lr = 1e-4,
    warmup: shared.Warmup = 0.2,
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
    """Train one of S3's four rankers: they read query, title and abstract together or apart, two with an example."""
    from rankwell.train import ArchitectureSettings, train_architecture

    settings = ArchitectureSettings(
        kind=kind,
        texts=texts,
        clean=clean,
        least_words=least_words,
        most_words=most_words,
        shared=shared_encoder,
        head_ratio=head_ratio,
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
        result = train_architecture(
            pairs, out, model=model, settings=settings, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
