"""`rankwell export`: a model as a folder that needs no torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import completing, options


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
    out: Annotated[
        Path | None, typer.Option(help="A new folder; without it the model lies beside the fetched ones.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX, in fp32 or int8, and say what int8 costs and saves."""
    from rankwell.encode import export_model, measure_drift

    name, task = export_model(model, "int8" if int8 else "fp32", out)
    print(name)
    if int8 and not quiet:
        drift = measure_drift(model, name, task)
        unit = "logits" if task == "pairs" else "cosines"
        print(f"size:   {drift.megabytes_fp32:,.0f} MB -> {drift.megabytes:,.0f} MB", file=sys.stderr)
        print(f"speed:  {drift.seconds_fp32 / drift.seconds:.1f} times as fast on a few sentences", file=sys.stderr)
        print(f"drift:  Kendall's tau {drift.tau:.3f}, {unit} differ by {drift.largest:.3f} at most", file=sys.stderr)
