"""`rankwell train cross-encoder`: fine-tune a transformer to rank documents for queries."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwell.cli import train_options as shared


@shared.with_training_options()
def cross_encoder(
    pairs: shared.PairsFolder,
    model: shared.Model,
    out: shared.Out,
    loss: Annotated[
        str, typer.Option(help="bce, or over lists: ranknet, margin, margin-mse, listnet, softmax, lambda.")
    ] = "bce",
    list_size: Annotated[int, typer.Option(help="The most documents of a query in a list.")] = 8,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens a pair; 256 by default.")] = None,
    query_tokens: Annotated[int | None, typer.Option(help="Tokens of the query, out of these.")] = None,
    *,
    validation: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Fine-tune a transformer that reads query and document together. Goes on after a kill: rankwell train resume."""
    from rankwell.train.cross_encoder import CrossEncoderSettings, train_cross_encoder

    chosen = CrossEncoderSettings(
        loss=loss,
        list_size=list_size,
        max_tokens=max_tokens,
        query_tokens=query_tokens,
        **settings,
    )
    with shared.going_on(out):
        result = train_cross_encoder(
            pairs, out, model=model, settings=chosen, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
