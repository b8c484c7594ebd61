"""`rankwell assess labels|agreement|report`: what the grades of a study come to."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli.options import Html, Marks, Names, Output, Quiet, SkipBad

if TYPE_CHECKING:
    from rankwell.core import Judgments
    from rankwell.judging.grades import Gathered
    from rankwell.judging.labels import LabelRules
    from rankwell.judging.report import Assessment
    from rankwell.report import Table


Source = Annotated[
    str,
    typer.Argument(
        metavar="GRADES", help="Exported grades (TSV, CSV or JSON), or a study's database.", show_default=False
    ),
]
Original = Annotated[
    Path | None,
    typer.Option(help="Earlier judgments (a database has those of its pool).", readable=False),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option("--threshold", help="Binary label set: NAME=GRADE or GRADE (default: liberal and strict)."),
]
LeastAssessors = Annotated[
    int | None,
    typer.Option(
        "--assessors", help="Least number of assessors of a query (default: what the study asked for, else 3)."
    ),
]
English = Annotated[
    int | None, typer.Option(help="Leave out assessors with a lower level of English (re-assessment study: 7).")
]
Complete = Annotated[
    float, typer.Option(help="Ignore assessors who graded less than this share of a query's passages.")
]
Missing = Annotated[
    str,
    typer.Option(
        help="Graded label where an answer is missing and the others differ: lowest (as in the re-assessment study), "
        "or median of the rest."
    ),
]
Confirmed = Annotated[
    bool | None,
    typer.Option(help="Keep only queries whose known relevant passage was judged relevant (default with --original)."),
]
Lowest = Annotated[int | None, typer.Option(help="Lowest grade of the scale (default: the study's, else 0 or 1).")]


def labels(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the qrels files.", show_default=False)],
    original: Original = None,
    threshold: Thresholds = None,
    assessors: LeastAssessors = None,
    english: English = None,
    complete: Complete = 0.5,
    missing: Missing = "lowest",
    lowest: Lowest = None,
    confirmed: Confirmed = None,
    merge: Annotated[bool, typer.Option("--merge", help="Merge the new labels into the original ones.")] = False,
    output: Output = "table",
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """Make judgments of grades: a binary set for each threshold by majority vote, a graded one by the median."""
    from rankwell.collections import write_qrels
    from rankwell.core import ParameterError, RankwellError
    from rankwell.judging.labels import GRADED, make_labels, with_original
    from rankwell.judging.report import fates_table, labels_table

    gathered = _gathered(source, skip_bad=skip_bad, quiet=quiet)
    known = _original(original, gathered, skip_bad=skip_bad, quiet=quiet)
    if merge and original is None:
        raise ParameterError("--merge", expected="--original QRELS, to have something to merge with", found="none")
    rules = _rules(gathered, threshold, assessors, english, complete, missing, lowest)
    wanted = confirmed if confirmed is not None else known is not None and not merge
    found = make_labels(gathered.grades, known, rules, confirmed=wanted)
    show_tables({"labels": labels_table(found, rules.thresholds, rules.lowest), "queries": fates_table(found)}, output)
    if not found.kept:
        raise RankwellError("labels: no query was kept, nothing was written")
    for name, judged in found.sets.items():
        whole = with_original(judged, known, binary=name != GRADED) if merge and known is not None else judged
        write_qrels(out / f"{name}.qrels", whole)
        print(f"labels: {out / f'{name}.qrels'}", file=sys.stderr)


def agreement(
    source: Source,
    threshold: Thresholds = None,
    english: English = None,
    lowest: Lowest = None,
    seed: Annotated[int, typer.Option(help="Random seed for the intervals.")] = 0,
    output: Output = "table",
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """How far assessors agree: Fleiss' kappa, Krippendorff's alpha, and everybody beside the others."""
    from rankwell.cli.runs import warn
    from rankwell.judging.agreement import measure_agreement
    from rankwell.judging.report import agreement_table, assessors_table

    gathered = _gathered(source, skip_bad=skip_bad, quiet=quiet)
    rules = _rules(gathered, threshold, lowest=lowest)
    found = measure_agreement(gathered.grades.only(english=english), rules.thresholds, seed=seed)
    show_tables({"agreement": agreement_table(found), "assessors": assessors_table(found)}, output)
    warn(list(found.warnings()))


def report(
    source: Source,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="The run to compare with, and those to compare.", show_default=False, readable=False),
    ] = None,
    original: Original = None,
    threshold: Thresholds = None,
    assessors: LeastAssessors = None,
    english: English = None,
    complete: Complete = 0.5,
    missing: Missing = "lowest",
    lowest: Lowest = None,
    confirmed: Confirmed = None,
    marks: Marks = "stars",
    output: Output = "table",
    html: Html = None,
    pictures: Annotated[Path | None, typer.Option(help="Write the pictures into this folder (PNG).")] = None,
    queries: Annotated[
        str | None, typer.Option(help="Queries, for results by length and answer type (a database has them).")
    ] = None,
    name: Names = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """See whether a verdict holds: old labels against new, and run against run under each of them."""
    from rankwell.cli.runs import read_runs, this_command, write_page
    from rankwell.collections import read_queries
    from rankwell.core import ParameterError
    from rankwell.judging.agreement import measure_agreement
    from rankwell.judging.experiments import run_experiments
    from rankwell.judging.labels import make_labels
    from rankwell.judging.report import Assessment, assessment_page, assessment_pictures, group_pictures

    gathered = _gathered(source, skip_bad=skip_bad, quiet=quiet)
    known = _original(original, gathered, skip_bad=skip_bad, quiet=quiet)
    if runs and known is None:
        raise ParameterError("--original", expected="the judgments there were before", found="none")
    rules = _rules(gathered, threshold, assessors, english, complete, missing, lowest)
    by_name = read_runs(runs, name, skip_bad=skip_bad, quiet=quiet) if runs else {}
    made = make_labels(gathered.grades, known, rules, confirmed=confirmed)
    counted = gathered.grades.only(english=english)
    experiments = run_experiments(made, by_name, lowest=rules.lowest) if runs else None
    texts = read_queries(queries).texts() if queries else gathered.texts
    found = Assessment(counted, rules, made, measure_agreement(counted, rules.thresholds), experiments, texts)
    _show_assessment(found, marks, output)
    if pictures:
        kinds = group_pictures(experiments, texts) if experiments else {}
        for called, picture in (assessment_pictures(counted, made) | kinds).items():
            picture.save(pictures / f"{called}.png")
        print(f"pictures: {pictures}", file=sys.stderr)
    if html:
        title = ", ".join([f"{Path(source).stem}: new labels", *by_name])
        write_page(html, assessment_page(found, title, marks=marks, command=this_command()))


def _show_assessment(found: Assessment, marks: str, output: str) -> None:
    """The experiments; without runs what the labels are and how far people agree."""
    from rankwell.cli.runs import show, warn
    from rankwell.evaluation.significance import mark
    from rankwell.judging import report as tables

    if found.experiments is None:
        labels = tables.labels_table(found.labels, found.rules.thresholds, found.rules.lowest)
        show_tables({"labels": labels, "agreement": tables.agreement_table(found.agreement)}, output)
        warn(list(found.agreement.warnings()))
        return
    if output in ("csv", "json"):
        show(tables.experiments_table(found.experiments, marks), output)
    else:
        each = [tables.experiment_table(one, marks).render(output) for one in found.experiments.all]
        print("\n".join([tables.verdict_table(found.experiments, marks).render(output), *each]), end="")
    if output == "table":
        print(f"\npaired t-test. {mark(marks).legend}")
    warn(found.experiments.notes)


def show_tables(tables: Mapping[str, Table], output: str) -> None:
    """Print several tables; in JSON as one object with a list for each."""
    if output == "json":
        print(json.dumps({key: json.loads(table.render("json")) for key, table in tables.items()}, indent=2))
    else:
        print("\n".join(table.render(output) for table in tables.values()), end="")


def _gathered(source: str, *, skip_bad: bool, quiet: bool) -> Gathered:
    from rankwell.cli.options import reading
    from rankwell.judging.grades import gather

    with reading("reading grades", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        return gather(source, reading=how)


def _original(path: Path | None, gathered: Gathered, *, skip_bad: bool, quiet: bool) -> Judgments | None:
    """The judgments of the file, else those that the study's database knows."""
    from rankwell.cli.options import reading
    from rankwell.collections import read_qrels

    if path is None:
        return gathered.original
    with reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        return read_qrels(path, reading=how)


def _rules(
    gathered: Gathered,
    threshold: list[str] | None,
    assessors: int | None = None,
    english: int | None = None,
    complete: float = 0.5,
    missing: str = "lowest",
    lowest: int | None = None,
) -> LabelRules:
    from rankwell.judging.labels import LabelRules, thresholds_of

    first = gathered.lowest if lowest is None else lowest
    thresholds = (
        dict(map(_threshold, threshold)) if threshold else thresholds_of(first, max(gathered.highest, first + 1))
    )
    needed = gathered.assessors if assessors is None else assessors
    return LabelRules(first, thresholds, needed, english, complete, missing)


def _threshold(text: str) -> tuple[str, int]:
    """`strict=3`, or a bare grade, whose set is called after it."""
    from rankwell.collections.formats.trec_qrels import is_whole
    from rankwell.core import ParameterError

    name, equals, grade = text.rpartition("=")
    if not is_whole(grade) or (equals and not name.isidentifier()):
        raise ParameterError("--threshold", expected="NAME=GRADE or GRADE, such as strict=3", found=text)
    return name or f"from-{int(grade)}", int(grade)
