"""`rankwell train parade`: fine-tune a transformer to rank long documents, passages read together."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwell.cli import train_options as shared


@shared.with_training_options(
    batch_size=shared.Shared(Annotated[int, typer.Option(help="Documents that are run together.")], 8)
)
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
    *,
    validation: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Fine-tune PARADE, which reads a long document in passages and judges it as one."""
    from rankwell.train.parade import ParadeSettings, train_parade

    chosen = ParadeSettings(
        aggregate=aggregate,
        passages=passages,
        most_passages=most_passages,
        loss=loss,
        list_size=list_size,
        max_tokens=max_tokens,
        query_tokens=query_tokens,
        **settings,
    )
    with shared.going_on(out):
        result = train_parade(
            pairs, out, model=model, settings=chosen, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
