"""The tables of a comparison: all about every difference, or one row a run as papers print it."""

from __future__ import annotations

from rankwell.evaluate.breakdown import top_grades
from rankwell.evaluate.comparison import Comparison
from rankwell.evaluate.evaluation import Evaluation
from rankwell.evaluate.measures import Measure
from rankwell.evaluate.significance import mark
from rankwell.report.table import Cell, Column, Table

DIGITS = 4


def comparison_table(comparison: Comparison, marks: str = "stars") -> Table:
    """A row for every measure and run: mean, difference to the baseline, intervals, p-value, wins and losses."""
    level = f"{comparison.test.level:.0%}"
    columns = [
        Column("measure", "left"),
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
    ]
    rows = [_row(comparison, measure, run, marks) for measure in comparison.measures for run in comparison.evaluations]
    return Table(f"Compared with {comparison.baseline}, {level} intervals", columns, rows)


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


def evaluation_table(evaluations: dict[str, Evaluation]) -> Table:
    """One row a run: its means, how much of its top 10 is judged, and the number of queries."""
    measures = next(iter(evaluations.values())).measures
    columns = [
        Column("run", "left"),
        *(Column(str(measure), digits=DIGITS) for measure in measures),
        Column("judged@10", digits=2),
        Column("queries"),
    ]
    rows: list[list[Cell]] = [
        [run, *(found.mean(measure) for measure in measures), found.judged_share, found.queries]
        for run, found in evaluations.items()
    ]
    return Table("Means", columns, rows)


def bounds_table(evaluations: dict[str, Evaluation]) -> Table:
    """Between which values each mean lies, whatever the unjudged documents turn out to be."""
    columns = [Column("run", "left"), Column("measure", "left"), Column("worst case", digits=DIGITS)]
    columns += [Column("unjudged as not relevant", digits=DIGITS), Column("best case", digits=DIGITS)]
    rows: list[list[Cell]] = []
    for run, found in evaluations.items():
        for measure in found.measures:
            worst, best = found.mean_bounds(measure)
            rows.append([run, str(measure), worst, found.mean(measure), best])
    return Table("What judging the unjudged documents could lead to", columns, rows)


def per_query_table(evaluations: dict[str, Evaluation]) -> Table:
    """A row for every query and run."""
    measures = next(iter(evaluations.values())).measures
    columns = [Column("query", "left"), Column("run", "left"), *(Column(str(m), digits=DIGITS) for m in measures)]
    rows: list[list[Cell]] = [
        [qid, run, *(float(found.array(measure)[place]) for measure in measures)]
        for place, qid in enumerate(next(iter(evaluations.values())).qids)
        for run, found in evaluations.items()
    ]
    return Table("Per query", columns, rows)


def _row(comparison: Comparison, measure: Measure, run: str, marks: str) -> list[Cell]:
    evaluation = comparison.evaluations[run]
    around = comparison.interval(run, measure)
    cells: list[Cell] = [str(measure), run, evaluation.mean(measure), around.low, around.high]
    difference = comparison.difference(run, measure)
    if difference is None:
        cells += [None, None, None, None, "", None, "-"]
    else:
        found, p = difference.found, difference.corrected_p
        record = f"{found.wins}/{found.ties}/{found.losses}"
        ends = (found.interval.low, found.interval.high)
        cells += [found.mean, *ends, p, mark(marks).of(p), found.effect_size, record]
    return [*cells, evaluation.judged_share, evaluation.queries]


def _marked(comparison: Comparison, run: str, measure: Measure, marks: str) -> str:
    difference = comparison.difference(run, measure)
    sign = "" if difference is None else mark(marks).of(difference.corrected_p)
    return f"{comparison.evaluations[run].mean(measure):.{DIGITS}f}{sign}"
