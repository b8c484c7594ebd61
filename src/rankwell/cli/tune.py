"""`rankwell tune`: choose k1, b and field weights by cross-validation over queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import completing, options
from rankwell.core import ParameterError


def tune(
    folder: options.IndexFolder,
    queries: Annotated[
        str, typer.Argument(help="Queries in any format, or a collection that has some.", show_default=False)
    ],
    qrels: Annotated[
        str, typer.Argument(help="Judgments in any format, or a collection that has some.", show_default=False)
    ],
    measure: Annotated[
        str,
        typer.Option("--measure", "-m", help="What to make as good as possible.", autocompletion=completing.measures),
    ] = "nDCG@10",
    k1: Annotated[str, typer.Option(help="Values to try.")] = "0.6,0.9,1.2,1.5,2.0",
    b: Annotated[str, typer.Option(help="Values to try.")] = "0.3,0.4,0.6,0.75,0.9",
    weights: Annotated[str | None, typer.Option(help="Fields whose weights are tried too: title,abstract.")] = None,
    steps: Annotated[int, typer.Option(help="Weights are tried in parts of 1/STEPS.")] = 4,
    folds: Annotated[int, typer.Option(help="How many parts the queries are split into.")] = 5,
    seed: options.Seed = 0,
    k: Annotated[int, typer.Option("-k", help="How many documents a query.")] = 100,
    split: options.Split = None,
    cache: Annotated[
        Path | None, typer.Option(help="Keep what was measured here, to go on after an interruption.")
    ] = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Try a grid of BM25 parameters; the cross-validated value is what to expect on new queries."""
    from rankwell.collections import read_any_qrels, read_any_queries
    from rankwell.core import Progress
    from rankwell.index import Index
    from rankwell.rank import BM25
    from rankwell.report.tuning import tuning_table
    from rankwell.tune import tune as tune_stage
    from rankwell.tune import weight_grid

    grid: dict[str, list[object]] = {"k1": [*parse_numbers("--k1", k1)], "b": [*parse_numbers("--b", b)]}
    if weights:
        grid["weights"] = [*weight_grid([name.strip() for name in weights.split(",")], steps)]
    asked, judged = read_any_queries(queries, split), read_any_qrels(qrels, split)
    with Progress("tuning", unit="settings", quiet=quiet) as progress:
        stage = BM25(Index.open(folder), k=k)
        found = tune_stage(stage, grid, asked, judged, measure, folds=folds, seed=seed, cache=cache, progress=progress)
    print(tuning_table(found.rows(), str(found.measure)).render(output), end="")
    if output == "table":
        best = ", ".join(f"{name}={value}" for name, value in found.best.setting.items())
        print(f"\nbest on all queries: {best} ({found.best.value:.4f})")
        print(f"to expect on new queries ({folds}-fold cross-validation): {found.cross_validated:.4f}")


def parse_numbers(name: str, text: str) -> list[float]:
    """`0.9,1.2` as numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ParameterError(name, expected="numbers separated by commas", found=text) from error
