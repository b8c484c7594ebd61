"""`rankwell compare`: whether a difference is real."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options


def compare(
    qrels: options.Qrels,
    baseline: Annotated[Path, typer.Argument(help="The run to compare with.", show_default=False, readable=False)],
    runs: Annotated[list[Path], typer.Argument(help="The runs to compare.", show_default=False, readable=False)],
    measure: options.Measures = None,
    test: options.Test = "t",
    correction: Annotated[
        str, typer.Option(help="For several runs: holm, bonferroni, benjamini-hochberg or none.")
    ] = "holm",
    seed: options.Seed = 0,
    marks: options.Marks = "stars",
    unjudged: options.Unjudged = "zero",
    compact: Annotated[bool, typer.Option("--compact", help="One row a run, marks behind the means.")] = False,
    output: options.Output = "table",
    html: options.Html = None,
    queries: options.QueriesFile = None,
    answer_types: Annotated[
        Path | None, typer.Option(help="Answer types that override the rules, a line each: qid TYPE.", readable=False)
    ] = None,
    assess_unjudged: options.AssessUnjudged = None,
    depth: options.AssessDepth = 10,
    collection: options.AssessCollection = None,
    name: options.Names = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare runs with a baseline: differences with intervals and tests, as a table and as a page with pictures."""
    from rankwell.cli.runs import MEASURES, read_judged, show, this_command, warn, write_open_documents, write_page
    from rankwell.collections import read_queries
    from rankwell.evaluate.answer_types import read_answer_types
    from rankwell.evaluate.comparison import compare as compare_runs
    from rankwell.evaluate.significance import TESTS, mark, paired_test
    from rankwell.report.comparison_page import comparison_page
    from rankwell.report.comparison_tables import compact_table, comparison_table

    drawn = {"seed": seed} if test in TESTS and hasattr(TESTS[test], "seed") else {}
    chosen = paired_test(test, **drawn)
    judgments, by_name = read_judged(qrels, [baseline, *runs], name, skip_bad=skip_bad, quiet=quiet)
    wanted = measure or MEASURES
    found = compare_runs(judgments, by_name, wanted, test=chosen, correction=correction, unjudged=unjudged)
    table = compact_table if compact else comparison_table
    show(table(found, marks), output)
    if output == "table":
        print(f"\n{chosen.name} test, correction: {correction}. {mark(marks).legend}")
    warn(list(found.warnings()))
    if html:
        texts = read_queries(queries).texts() if queries else None
        types = read_answer_types(answer_types) if answer_types else None
        write_page(html, comparison_page(found, texts=texts, answer_types=types, marks=marks, command=this_command()))
    if assess_unjudged:
        write_open_documents(
            *(assess_unjudged, judgments, by_name, qrels, [baseline, *runs]),
            depth=depth,
            queries=queries,
            collection=collection,
        )
