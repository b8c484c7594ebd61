"""Tables of labels, agreement, assessors and experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rankwell.core import Judgments
from rankwell.evaluation.significance import mark
from rankwell.judging.agreement import Agreement, Assessor
from rankwell.judging.experiments import Experiment, ExperimentOutcome, Experiments
from rankwell.judging.labels import GRADED, ORIGINAL, Labels
from rankwell.report import Column, Table
from rankwell.report.table import Cell

DIGITS = 3
FIGURES = tuple(Column(name, digits=DIGITS) for name in ("difference", "diff. from", "diff. to", "p"))
MARK = Column("mark", "left")


def labels_table(labels: Labels, thresholds: Mapping[str, int], lowest: int) -> Table:
    """Size of each label set: passages and relevant passages, in total and per query."""
    columns = [
        *(Column("labels", "left"), Column("relevant from grade"), Column("queries"), Column("passages")),
        *(Column("relevant"), Column("per query", digits=1), Column("fewest"), Column("most")),
    ]
    rows: list[list[Cell]] = []
    if labels.original:
        rows.append([ORIGINAL, 1, *_relevant(labels.original, 1)])
    rows += [[name, thresholds[name], *_relevant(judged, 1)] for name, judged in labels.binary.items()]
    rows.append([GRADED, lowest + 1, *_relevant(labels.graded, lowest + 1)])
    return Table("Labels", columns, rows)


def fates_table(labels: Labels) -> Table:
    """Number of assessed queries that were kept or left out, by reason."""
    counts = Counter(labels.fates.values())
    rows: list[list[Cell]] = [[fate, count] for fate, count in counts.most_common()]
    return Table("Assessed queries", [Column("what became of them", "left"), Column("queries")], rows)


def agreement_table(found: Agreement) -> Table:
    """Every measure of agreement with its interval."""
    columns = [
        *(Column("of", "left"), Column("measure", "left"), Column("value", digits=DIGITS)),
        *(Column("from", digits=DIGITS), Column("to", digits=DIGITS), Column("passages"), Column("grades")),
    ]
    rows: list[list[Cell]] = [
        [one.about, one.measure, one.value, one.low, one.high, one.passages, one.grades] for one in found.figures
    ]
    return Table("Agreement, 95% intervals", columns, rows)


def assessors_table(found: Agreement) -> Table:
    """A row for each assessor, and one for all together."""
    names = tuple(found.assessors[0].accord) if found.assessors else ()
    columns = [
        *(Column("assessor", "left"), Column("English"), Column("queries"), Column("graded"), Column("can't tell")),
        *(Column(f"with majority, {name}", digits=2) for name in names),
        *(Column("grades above others", digits=2), Column("seconds", digits=1)),
        *(Column("25% under", digits=1), Column("25% over", digits=1)),
    ]
    rows = [_assessor_row(assessor) for assessor in found.assessors]
    if rows:
        graded, unsure = (sum(getattr(one, name) for one in found.assessors) for name in ("graded", "cannot_tell"))
        low, median, high = found.seconds or (None, None, None)
        rows.append(["all", None, None, graded, unsure, *([None] * (len(names) + 1)), median, low, high])
    return Table("Assessors", columns, rows)


def experiment_table(experiment: Experiment, marks: str = "stars") -> Table:
    """One experiment, a row for each measure."""
    columns = [
        Column("measure", "left"),
        *(Column(name, digits=DIGITS) for name in (experiment.first, experiment.second)),
        *(*FIGURES, MARK),
    ]
    return Table(experiment.title, columns, [_outcome_row(one, marks) for one in experiment.outcomes])


def experiments_table(experiments: Experiments, marks: str = "stars") -> Table:
    """All experiments in one table, for programs."""
    columns = [
        *(Column("experiment"), Column("of", "left"), Column("first", "left"), Column("second", "left")),
        *(Column("measure", "left"), Column("first mean", digits=DIGITS), Column("second mean", digits=DIGITS)),
        *(*FIGURES, MARK, Column("queries")),
    ]
    rows = [
        [one.number, one.about, one.first, one.second, *_outcome_row(outcome, marks), outcome.found.queries]
        for one in experiments.all
        for outcome in one.outcomes
    ]
    return Table("Experiments", columns, rows)


def verdict_table(experiments: Experiments, marks: str = "stars") -> Table:
    """Each run's difference to the baseline, with the label sets side by side."""
    binary = [one for one in experiments.of_runs if one.about != f"{GRADED} labels"]
    sets = list(dict.fromkeys(one.about for one in binary))
    cells: dict[tuple[str, str], list[Cell]] = {}
    for one in binary:
        for outcome in one.outcomes:
            said = f"{outcome.found.mean:+.{DIGITS}f}{mark(marks).of(outcome.found.p)}"
            cells.setdefault((one.second, str(outcome.measure)), []).append(said)
    columns = [Column("run", "left"), Column("measure", "left"), *(Column(name, "left") for name in sets)]
    title = f"Differences to {binary[0].first}, {experiments.queries} queries" if binary else "Differences"
    return Table(title, columns, [[*key, *row] for key, row in cells.items()])


def _relevant(judged: Judgments, rel: int) -> list[Cell]:
    counts = [len(judged.relevant(qid, rel)) for qid in judged]
    ends: list[Cell] = [float(np.mean(counts)), min(counts), max(counts)] if counts else [None, None, None]
    return [len(judged), judged.count, sum(counts), *ends]


def _assessor_row(one: Assessor) -> list[Cell]:
    low, median, high = one.seconds or (None, None, None)
    shares: Sequence[Cell] = [accord.share for accord in one.accord.values()]
    return [one.id, one.english, one.queries, one.graded, one.cannot_tell, *shares, one.lean, median, low, high]


def _outcome_row(outcome: ExperimentOutcome, marks: str) -> list[Cell]:
    found = outcome.found
    ends = (found.interval.low, found.interval.high)
    return [
        str(outcome.measure), outcome.first, outcome.second, found.mean, *ends, found.p, mark(marks).of(found.p)
    ]  # fmt: skip
