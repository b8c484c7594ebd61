"""The tables of a comparison: all about every difference, or one row a run as papers print it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwell.evaluate.breakdown import top_grades
from rankwell.evaluate.comparison import Comparison
from rankwell.evaluate.evaluation import Evaluation
from rankwell.evaluate.measures import Measure
from rankwell.evaluate.significance import mark
from rankwell.report.cells import Marked, cell_text
from rankwell.report.table import Cell, Column, Table

DIGITS = 4
COULD_BE = "What judging the unjudged documents could lead to"


RUN = (
    Column("run", "left"),
    Column("mean", digits=DIGITS),
    Column("from", digits=DIGITS),
    Column("to", digits=DIGITS),
    Column("difference", digits=DIGITS),
    Column("diff. from", digits=DIGITS),
    Column("diff. to", digits=DIGITS),
    Column("p", digits=DIGITS),
    Column("mark", "left"),
    Column("effect", digits=2),
    Column("wins/ties/losses", "left"),
    Column("judged@10", digits=2),
    Column("queries"),
)
# What figures rest on: the share of the top 10 that is judged, the documents in it that are not, and the queries.
SUPPORT = (Column("judged@10", digits=2), Column("unjudged"), Column("queries"))
BOUNDS = (
    Column("measure", "left"),
    Column("worst case", digits=DIGITS),
    Column("unjudged as not relevant", digits=DIGITS),
    Column("best case", digits=DIGITS),
)
ENDS = (Column("worst case", digits=DIGITS), Column("best case", digits=DIGITS))
TREATED = {"zero": "", "remove": "; unjudged documents removed", "bounds": "; unjudged documents not relevant"}


def comparison_table(comparison: Comparison, marks: str = "stars") -> Table:
    """A row for every measure and run: mean, difference to the baseline, intervals, p-value, wins and losses."""
    bounded = bool(comparison.evaluations[comparison.baseline].bounds)
    rows = [
        [str(measure), *_row(comparison, measure, run, marks), *(_ends(comparison, measure, run) if bounded else ())]
        for measure in comparison.measures
        for run in comparison.evaluations
    ]
    return Table(_title(comparison), [Column("measure", "left"), *RUN, *(ENDS if bounded else ())], rows)


def measure_tables(comparison: Comparison, marks: str = "stars") -> list[Table]:
    """The same with a table for each measure, which is narrow enough for a page."""
    return [
        Table(
            f"{measure}: {_title(comparison)}",
            RUN,
            [_row(comparison, measure, run, marks) for run in comparison.evaluations],
        )
        for measure in comparison.measures
    ]


def compact_table(comparison: Comparison, marks: str = "stars") -> Table:
    """One row a run, one column a measure, with the marks of significance behind the means."""
    columns = [Column("run", "left"), *(Column(str(measure), "left") for measure in comparison.measures)]
    rows: list[list[Cell]] = [
        [run, *(_marked(comparison, run, measure, marks) for measure in comparison.measures)]
        for run in comparison.evaluations
    ]
    return Table(f"{comparison.queries} queries", columns, rows)


def grades_table(comparison: Comparison, depth: int = 10) -> Table:
    """What the top k of each run is made of, by grade."""
    broken = {run: top_grades(judged, depth) for run, judged in comparison.judged.items()}
    grades = list(next(iter(broken.values())).grades)
    columns = [Column("run", "left"), *(Column(f"grade {grade}") for grade in grades), Column("unjudged")]
    rows: list[list[Cell]] = [
        [run, *(of_run.grades[grade] for grade in grades), of_run.unjudged] for run, of_run in broken.items()
    ]
    return Table(f"Documents in the top {depth}", columns, rows)


def evaluation_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """One row a run: its means, how much of its top 10 is judged, and the number of queries."""
    measures = next(iter(evaluations.values())).measures
    columns = [Column("run", "left"), *(Column(str(measure), digits=DIGITS) for measure in measures), *SUPPORT]
    rows: list[list[Cell]] = [
        [run, *(found.mean(measure) for measure in measures), *_support(found)] for run, found in evaluations.items()
    ]
    return Table(f"Means{TREATED[next(iter(evaluations.values())).unjudged]}", columns, rows)


def bounds_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Between which values each mean lies, whatever the unjudged documents turn out to be."""
    rows: list[list[Cell]] = []
    for run, found in evaluations.items():
        for measure in found.measures:
            worst, best = found.mean_bounds(measure)
            rows.append([run, str(measure), worst, found.mean(measure), best, *_support(found)])
    return Table(COULD_BE, [Column("run", "left"), *BOUNDS, *SUPPORT], rows)


def per_query_bounds_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Between which values each query lies."""
    rows: list[list[Cell]] = []
    for place, qid in enumerate(next(iter(evaluations.values())).qids):
        for run, found in evaluations.items():
            for measure, ends in found.bounds.items():
                middle = float(found.array(measure)[place])
                rows.append([qid, run, str(measure), float(ends.worst[place]), middle, float(ends.best[place])])
    return Table(COULD_BE, [Column("query", "left"), Column("run", "left"), *BOUNDS], rows)


def per_query_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """A row for every query and run."""
    measures = next(iter(evaluations.values())).measures
    columns = [Column("query", "left"), Column("run", "left"), *(Column(str(m), digits=DIGITS) for m in measures)]
    rows: list[list[Cell]] = [
        [qid, run, *(float(found.array(measure)[place]) for measure in measures)]
        for place, qid in enumerate(next(iter(evaluations.values())).qids)
        for run, found in evaluations.items()
    ]
    return Table(f"Per query{TREATED[next(iter(evaluations.values())).unjudged]}", columns, rows)


def _title(comparison: Comparison) -> str:
    treated = TREATED[comparison.evaluations[comparison.baseline].unjudged]
    return f"Compared with {comparison.baseline}, {comparison.test.level:.0%} intervals{treated}"


def _support(found: Evaluation) -> tuple[Cell, ...]:
    """What a run's figures rest on."""
    return (found.judged_share, found.unjudged_on_top, found.queries)


def _ends(comparison: Comparison, measure: Measure, run: str) -> tuple[float, float]:
    return comparison.evaluations[run].mean_bounds(measure)


def _row(comparison: Comparison, measure: Measure, run: str, marks: str) -> list[Cell]:
    evaluation = comparison.evaluations[run]
    around = comparison.interval(run, measure)
    mean, queries = evaluation.mean(measure), int(np.isfinite(evaluation.array(measure)).sum())
    cells: list[Cell] = [run, mean, *(around or (None, None))]
    difference = comparison.difference(run, measure)
    if difference is None:
        base = None if run == comparison.baseline else comparison.evaluations[comparison.baseline].mean(measure)
        cells += [None if base is None else mean - base, None, None, None, "", None, "-"]
    else:
        queries = difference.found.queries
        found, p = difference.found, difference.corrected_p
        record = f"{found.wins}/{found.ties}/{found.losses}"
        ends = (found.interval.low, found.interval.high)
        cells += [found.mean, *ends, p, mark(marks).of(p), found.effect_size, record]
    return [*cells, evaluation.judged_share, queries if measure.is_mean else evaluation.queries]


def _marked(comparison: Comparison, run: str, measure: Measure, marks: str) -> Marked:
    difference = comparison.difference(run, measure)
    sign = "" if difference is None else mark(marks).of(difference.corrected_p)
    mean = comparison.evaluations[run].mean(measure)
    return Marked(cell_text(mean, Column("", digits=DIGITS)) + sign, mean)
