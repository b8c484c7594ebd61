"""`rankwell fuse`: several runs as one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="The runs.", show_default=False, readable=False)],
    out: options.RunOut,
    method: Annotated[str, typer.Option(help="rrf, sum or mnz.")] = "rrf",
    weights: Annotated[str | None, typer.Option(help="A number a run: 0.7,0.3.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="Keep so many documents a query.")] = None,
    tag: Annotated[str, typer.Option(help="The new run's name.")] = "fused",
    quiet: options.Quiet = False,
) -> None:
    """Combine runs: reciprocal rank fusion, or weighted sums of normalised scores."""
    from rankwell.collections import read_run, write_run
    from rankwell.core import ParameterError
    from rankwell.rank import fusion

    try:
        numbers = None if weights is None else tuple(float(part) for part in weights.split(","))
    except ValueError as error:
        raise ParameterError("--weights", expected="numbers, one a run: 0.7,0.3", found=weights) from error
    found = fusion(method, numbers)(*(read_run(path) for path in runs))
    found = found if k is None else found.top(k)
    write_run(out, replace(found, tag=tag), "trec")
    if not quiet:
        print(f"{out}: {len(found.qids):,} queries, {len(found):,} documents", file=sys.stderr)
