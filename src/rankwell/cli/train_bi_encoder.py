"""`rankwell train bi-encoder`: fine-tune a transformer to put queries and their documents close together."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwell.cli import train_options as shared


@shared.with_training_options(
    batch_size=shared.Shared(
        Annotated[int, typer.Option(help="Queries that are run together; the more, the harder.")], 32
    ),
    freeze=shared.Shared(Annotated[str, typer.Option(help="What stays as it is: none, embeddings, layers:N.")], "none"),
)
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
    *,
    validation: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Fine-tune a transformer that makes vectors of texts, for rankwell encode and search --dense."""
    from rankwell.train.bi_encoder import BiEncoderSettings, train_bi_encoder

    chosen = BiEncoderSettings(
        pooling=pooling,
        negatives=negatives,
        scale=scale,
        query_prompt=query_prompt,
        max_tokens=max_tokens,
        **settings,
    )
    with shared.going_on(out):
        result = train_bi_encoder(
            pairs, out, model=model, settings=chosen, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
