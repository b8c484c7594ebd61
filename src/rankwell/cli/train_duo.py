"""`rankwell train duo`: fine-tune a transformer that compares two documents."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankwell.cli import train_options as shared


@shared.with_training_options(
    batch_size=shared.Shared(Annotated[int, typer.Option(help="Triples that are run together.")], 16)
)
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
    *,
    validation: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Fine-tune duoBERT, which says of two documents which one is more relevant."""
    from rankwell.train.duo import DuoSettings, train_duo

    chosen = DuoSettings(
        others=others,
        validation_others=validation_others,
        max_tokens=max_tokens,
        query_tokens=query_tokens,
        **settings,
    )
    with shared.going_on(out):
        result = train_duo(
            pairs, out, model=model, settings=chosen, validation=shared.validation_of(validation), quiet=quiet
        )
    shared.tell(result, quiet=quiet)
