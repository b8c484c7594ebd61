"""`rankwell encode`: vectors for the documents of an index."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import completing, options

if TYPE_CHECKING:
    from rankwell.dense import Embeddings, Encoder

MEGA = 1e6


def encode(
    folder: options.IndexFolder,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="A bi-encoder; that of before where there are vectors already.",
            autocompletion=completing.bi_encoders,
        ),
    ] = None,
    pooling: Annotated[str | None, typer.Option(help="cls, mean or max; the model's own by default.")] = None,
    layer: Annotated[int, typer.Option(help="Which layer's vectors, from 1; -1 is the last.")] = -1,
    field: Annotated[str | None, typer.Option(help="Encode only this field.")] = None,
    document: Annotated[
        str | None, typer.Option(help="Encode this: '{title} {abstract}'; all fields by default.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The vectors' name, where an index is to have several.")] = None,
    storage: Annotated[str, typer.Option(help="int16, or int8 for half of that.")] = "int16",
    no_graph: Annotated[bool, typer.Option("--no-graph", help="Prepare no approximate search.")] = False,
    precision: Annotated[str | None, typer.Option(help="fp32 or int8; what the model has by default.")] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Encode documents, so that they are found by meaning; later runs encode only what is new or changed."""
    from rankwell.core import Progress
    from rankwell.dense import can_connect, connect, embed, refresh
    from rankwell.encode import TextEncoder
    from rankwell.index import Index

    index = Index.open(folder)
    with ExitStack() as stack, Progress(f"encoding {folder}", unit="documents", quiet=quiet) as progress:

        def placed(encoder: Encoder) -> Encoder:
            return encoder if on is None else stack.enter_context(_on(on, threads, encoder))

        try:
            if model is None:
                found = refresh(index, name, graph=False, progress=progress, through=placed)
            else:
                encoder = TextEncoder(model, pooling=pooling, layer=layer, precision=precision, threads=threads)
                what = {"field": field, "document": document, "name": name}
                found = embed(index, placed(encoder), **what, storage=storage, graph=False, progress=progress)
        except BaseException:
            if progress.count:
                print("what was encoded so far is kept: the same command goes on from there", file=sys.stderr)
            raise
    if not no_graph and can_connect():
        with Progress(f"connecting {folder}", unit="vectors", quiet=quiet) as progress:
            found = connect(index, found.name, progress)
    if not quiet:
        _print(found)


def _on(on: str, threads: int | None, encoder: Encoder) -> AbstractContextManager[Encoder]:
    """The encoder with its work done by others."""
    from rankwell.scale import Address, encoder_on

    return encoder_on(Address.parse(on, threads), encoder)


def _print(found: Embeddings) -> None:
    size = {name: f"{size / MEGA:,.1f} MB" for name, size in found.info()["bytes"].items() if size}
    about = f"{found.count:,} documents have vectors of {found.dimensions} numbers by {found.model}"
    print(f"{found.folder}: {about} ({', '.join(f'{name} {size}' for name, size in size.items())})", file=sys.stderr)
