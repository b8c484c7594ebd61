"""`rankwell train architecture`: the four document rankers of S3, which read query, title and abstracts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwell.cli import train_options as shared


@shared.with_training_options(measure="AP", lr=1e-4, warmup=0.2)
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
    *,
    validation: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train one of S3's four rankers: they read query, title and abstract together or apart, two with an example."""
    from rankwell.train import ArchitectureSettings, train_architecture

    chosen = ArchitectureSettings(
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
        **settings,
    )
    with shared.going_on(out):
        result = train_architecture(
            pairs, out, model=model, settings=chosen, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
