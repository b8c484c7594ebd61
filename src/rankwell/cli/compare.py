"""`rankwell evaluate | compare | sweep | fuse | convert`: measure, compare and combine runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli.options import reading


def compare(
    qrels: options.Qrels,
    baseline: Annotated[Path, typer.Argument(help="The run to compare with.", show_default=False, readable=False)],
    runs: Annotated[list[Path], typer.Argument(help="The runs to compare.", show_default=False, readable=False)],
    measure: options.Measures = None,
    test: options.Test = "t",
    correction: Annotated[
        str, typer.Option(help="Correction for several runs: holm, bonferroni, benjamini-hochberg or none.")
    ] = "holm",
    seed: options.Seed = 0,
    marks: options.Marks = "stars",
    unjudged: options.Unjudged = "zero",
    compact: Annotated[
        bool, typer.Option("--compact", help="Print one row for each run, with marks behind the means.")
    ] = False,
    output: options.Output = "table",
    html: options.Html = None,
    queries: options.QueriesFile = None,
    answer_types: Annotated[
        Path | None,
        typer.Option(help="File of answer types that override the rules; a line is: qid TYPE.", readable=False),
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
    from rankwell.evaluation.comparison import compare as compare_runs
    from rankwell.evaluation.query_groups import read_answer_types
    from rankwell.evaluation.significance import TESTS, mark, paired_test
    from rankwell.report.comparison import compact_table, comparison_page, comparison_table

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


def evaluate(
    qrels: options.Qrels,
    runs: Annotated[
        list[Path], typer.Argument(help="Runs in TREC or MS MARCO format.", show_default=False, readable=False)
    ],
    measure: options.Measures = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Print a row for every query.")] = False,
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
    from rankwell.evaluation import evaluate as measure_runs
    from rankwell.evaluation.comparison import warnings
    from rankwell.report.comparison import bounds_table, evaluation_table, per_query_bounds_table, per_query_table

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


def sweep(
    qrels: options.Qrels,
    baseline: Annotated[Path, typer.Argument(help="The first stage's run.", show_default=False)],
    runs: Annotated[
        list[str], typer.Argument(help="One re-ranked run, or NUMBER=RUN for each point.", show_default=False)
    ],
    measure: options.Measures = None,
    depths: Annotated[str, typer.Option(help="Depths to re-rank: FIRST:LAST:STEP or a list 10,20,50.")] = "10:100:10",
    name: Annotated[str, typer.Option(help="Name of the number in NUMBER=RUN: k1, layers, ...")] = "value",
    test: options.Test = "t",
    seed: options.Seed = 0,
    marks: options.Marks = "stars",
    output: options.Output = "table",
    html: options.Html = None,
    pictures: Annotated[Path | None, typer.Option(help="Write the pictures into this folder (PNG).")] = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Follow measures over re-ranking depth (from one re-ranked run) or over any number, with a 95 % band."""
    from rankwell.cli.runs import read_judged, show, this_command, warn, write_page
    from rankwell.evaluation.comparison import depth_sweep, parse_depths, parse_points
    from rankwell.evaluation.comparison import sweep as sweep_runs
    from rankwell.evaluation.significance import TESTS, paired_test
    from rankwell.report.sweep import sweep_page, sweep_pictures, sweep_table

    points = parse_points(runs)
    files = [baseline, *(Path(run) for run in points.values())] if points else [baseline, *map(Path, runs)]
    labels = [str(place) for place in range(len(files))]
    judgments, by_name = read_judged(qrels, files, labels, skip_bad=skip_bad, quiet=quiet)
    first, *others = by_name.values()
    drawn = {"seed": seed} if test in TESTS and hasattr(TESTS[test], "seed") else {}
    chosen, wanted = paired_test(test, **drawn), measure or ["RR@10", "R@10", "nDCG@10"]
    if points:
        at = dict(zip(points, others, strict=True))
        found = sweep_runs(judgments, first, at, wanted, name=name, test=chosen)
    else:
        found = depth_sweep(judgments, first, others[0], parse_depths(depths), wanted, test=chosen)
    show(sweep_table(found, marks), output)
    warn(list(found.warnings()))
    if pictures:
        for title, picture in sweep_pictures(found).items():
            picture.save(pictures / f"{title}.png")
        print(f"pictures: {pictures}", file=sys.stderr)
    if html:
        write_page(html, sweep_page(found, f"{baseline.name} by {found.name}", this_command(), marks))


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="The runs.", show_default=False, readable=False)],
    out: options.RunOut,
    method: Annotated[str, typer.Option(help="Fusion method: rrf (reciprocal rank), sum or mnz.")] = "rrf",
    weights: Annotated[str | None, typer.Option(help="One weight for each run: 0.7,0.3.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="Number of documents to keep for each query.")] = None,
    tag: Annotated[str, typer.Option(help="Run tag.")] = "fused",
    quiet: options.Quiet = False,
) -> None:
    """Combine runs: reciprocal rank fusion, or weighted sums of normalised scores."""
    from rankwell.collections import read_run, write_run
    from rankwell.core import ParameterError
    from rankwell.retrieve import fusion

    try:
        numbers = None if weights is None else tuple(float(part) for part in weights.split(","))
    except ValueError as error:
        raise ParameterError("--weights", expected="numbers, one a run: 0.7,0.3", found=weights) from error
    found = fusion(method, numbers)(*(read_run(path) for path in runs))
    found = found if k is None else found.top(k)
    write_run(out, replace(found, tag=tag), "trec")
    if not quiet:
        print(f"{out}: {len(found.qids):,} queries, {len(found):,} documents", file=sys.stderr)


def convert(
    source: options.Source,
    out: Annotated[Path, typer.Argument(help="A file whose ending names the format, or a folder.", show_default=False)],
    kind: Annotated[
        str | None,
        typer.Option(help="What is converted: collection, documents, queries, qrels or run; guessed if not named."),
    ] = None,
    read_as: Annotated[str | None, typer.Option("--from", help="The format to read; guessed if not named.")] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="The format to write; told by OUT's ending if not named.")
    ] = None,
    sample: Annotated[
        list[str] | None, typer.Option(help="Cut out a sub-collection NAME:QUERIES:DOCUMENTS; several share nothing.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for --sample.")] = 0,
    split: options.Split = None,
    drop_negative: Annotated[
        bool, typer.Option("--drop-negative", help="Judgments below 0 mean not judged (TREC-COVID).")
    ] = False,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert between formats, or cut sub-collections out of a collection."""
    from rankwell.collections import ColumnChoice
    from rankwell.collections.convert import Conversion
    from rankwell.collections.sample import SamplePart

    choice = ColumnChoice.parse(id_column, fields, metadata)
    job = Conversion(source, out, kind, read_as, write_as, split, choice, drop_negative)
    with reading(f"converting {source}", "records", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        said = job.sampled([SamplePart.parse(text) for text in sample], seed, how) if sample else job.converted(how)
    if not quiet:
        print(said, file=sys.stderr)
