"""`rankwell evaluate`: what runs are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options


def evaluate(
    qrels: options.Qrels,
    runs: Annotated[
        list[Path], typer.Argument(help="Runs in TREC or MS MARCO format.", show_default=False, readable=False)
    ],
    measure: options.Measures = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="A row for every query.")] = False,
    unjudged: options.Unjudged = "zero",
    output: options.Output = "table",
    assess_unjudged: options.AssessUnjudged = None,
    depth: options.AssessDepth = 10,
    name: options.Names = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure runs against judgments. A query that a run lacks counts as 0; ties are broken as trec_eval does."""
    from rankwell.cli.runs import MEASURES, read_judged, show, warn, write_open_documents
    from rankwell.evaluate import evaluate as measure_runs
    from rankwell.evaluate.comparison import warnings
    from rankwell.report.comparison_tables import (
        bounds_table,
        evaluation_table,
        per_query_bounds_table,
        per_query_table,
    )

    judgments, by_name = read_judged(qrels, runs, name, skip_bad=skip_bad, quiet=quiet)
    found = measure_runs(judgments, by_name, measure or MEASURES, unjudged=unjudged)
    if unjudged == "bounds":
        table = per_query_bounds_table(found) if per_query else bounds_table(found)
    else:
        table = per_query_table(found) if per_query else evaluation_table(found)
    show(table, output)
    warn(list(warnings(found)))
    if assess_unjudged:
        write_open_documents(assess_unjudged, judgments, by_name, qrels, runs, depth=depth)
