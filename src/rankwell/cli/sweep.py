"""`rankwell sweep`: how a measure follows re-ranking depth, a parameter or a size."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options


def sweep(
    qrels: options.Qrels,
    baseline: Annotated[Path, typer.Argument(help="The first stage's run.", show_default=False)],
    runs: Annotated[
        list[str], typer.Argument(help="One re-ranked run, or NUMBER=RUN for each point.", show_default=False)
    ],
    measure: options.Measures = None,
    depths: Annotated[str, typer.Option(help="Depths to re-rank: FIRST:LAST:STEP or a list 10,20,50.")] = "10:100:10",
    name: Annotated[str, typer.Option(help="What the numbers of NUMBER=RUN are: k1, layers, ...")] = "value",
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
    from rankwell.evaluate.significance import TESTS, paired_test
    from rankwell.evaluate.sweep import depth_sweep, parse_depths, parse_points
    from rankwell.evaluate.sweep import sweep as sweep_runs
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
