"""The tables and pictures of an assessment, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from rankwell.core import Judgments
from rankwell.evaluation import parse_measure
from rankwell.evaluation.query_groups import Groups, by_answer_type, by_length
from rankwell.evaluation.significance import mark
from rankwell.judging.agreement import Agreement, Quartiles
from rankwell.judging.experiments import Experiment, ExperimentOutcome, Experiments
from rankwell.judging.grades import Grades
from rankwell.judging.labels import GRADED, ORIGINAL, LabelRules, Labels
from rankwell.judging.study import ENGLISH_LEVELS
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart, Text
from rankwell.report.pictures import Picture, bars, boxes, columns, stacked_bars
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
    rows: list[list[Cell]] = [[fate, count] for fate, count in Counter(labels.fates.values()).most_common()]
    return Table("Assessed queries", [Column("what became of them", "left"), Column("queries")], rows)


def agreement_table(agreement: Agreement) -> Table:
    """Every measure of agreement with its interval."""
    columns = [
        *(Column("of", "left"), Column("measure", "left"), Column("value", digits=DIGITS)),
        *(Column("from", digits=DIGITS), Column("to", digits=DIGITS), Column("passages"), Column("grades")),
    ]
    rows: list[list[Cell]] = [
        [one.about, one.measure, one.value, one.low, one.high, one.passages, one.grades] for one in agreement.figures
    ]
    return Table("Agreement, 95% intervals", columns, rows)


def assessors_table(agreement: Agreement) -> Table:
    """A row for each assessor, and one for all together."""
    names = tuple(agreement.assessors[0].accord) if agreement.assessors else ()
    columns = [
        *(Column("assessor", "left"), Column("English"), Column("queries"), Column("graded"), Column("can't tell")),
        *(Column(f"with majority, {name}", digits=2) for name in names),
        *(Column("grades above others", digits=2), Column("seconds", digits=1)),
        *(Column("25% under", digits=1), Column("25% over", digits=1)),
    ]
    rows: list[list[Cell]] = []
    for one in agreement.assessors:
        shares = (accord.share for accord in one.accord.values())
        counts = (one.english, one.queries, one.graded, one.cannot_tell)
        rows.append([one.id, *counts, *shares, one.lean, *_times(one.seconds)])
    if rows:
        graded, unsure = (sum(getattr(one, name) for one in agreement.assessors) for name in ("graded", "cannot_tell"))
        rows.append(["all", None, None, graded, unsure, *([None] * (len(names) + 1)), *_times(agreement.seconds)])
    return Table("Assessors", columns, rows)


def _times(seconds: Quartiles | None) -> tuple[float | None, ...]:
    return (seconds.median, seconds.low, seconds.high) if seconds else (None, None, None)


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
            said = f"{outcome.found.mean:+.{DIGITS}f}{_mark(outcome, marks)}"
            cells.setdefault((one.second, str(outcome.measure)), []).append(said)
    columns = [Column("run", "left"), Column("measure", "left"), *(Column(name, "left") for name in sets)]
    title = f"Differences to {binary[0].first}, {experiments.queries} queries" if binary else "Differences"
    return Table(title, columns, [[*key, *row] for key, row in cells.items()])


def _relevant(judged: Judgments, rel: int) -> list[Cell]:
    counts = [len(judged.relevant(qid, rel)) for qid in judged]
    ends: list[Cell] = [float(np.mean(counts)), min(counts), max(counts)] if counts else [None, None, None]
    return [len(judged), judged.count, sum(counts), *ends]


def _outcome_row(outcome: ExperimentOutcome, marks: str) -> list[Cell]:
    difference = outcome.found
    means = (outcome.first, outcome.second, difference.mean)
    return [str(outcome.measure), *means, *difference.interval, difference.p, _mark(outcome, marks)]


def _mark(outcome: ExperimentOutcome, marks: str) -> str:
    """The significance mark, in brackets where the measure looks deeper than the runs were judged."""
    sign = mark(marks).of(outcome.found.p)
    return f"({sign})" if sign and outcome.deeper else sign


IN_BRACKETS = "Marks in brackets: the measure looks deeper than the runs were judged."


def unjudged_table(experiments: Experiments) -> Table:
    """Each mean without the unjudged passages, and its bounds over all grades that these may have."""
    columns = [Column(name, "left") for name in ("labels", "run", "measure")]
    columns += [
        Column("judged to rank"),
        *(Column(n, digits=DIGITS) for n in ("mean", "condensed", "lowest", "highest")),
    ]
    rows: list[list[Cell]] = []
    for name, of_runs in experiments.measured.items():
        for run, of_run in of_runs.items():
            condensed, bounded = experiments.condensed[name][run], experiments.bounded.get(name, {}).get(run)
            depth = None if name == ORIGINAL else experiments.depths[run]
            for measure in of_run.measures:
                ends: list[Cell] = [None, None]
                if bounded is not None and measure in bounded.bounds:
                    ends = [*sorted((bounded.bounds[measure].worst_mean, bounded.bounds[measure].best_mean))]
                rows.append([name, run, str(measure), depth, of_run.mean(measure), condensed.mean(measure), *ends])
    return Table("Unjudged passages: as not relevant, left out (condensed), and bounds", columns, rows)


CANNOT_TELL = "can't tell"


def assessment_pictures(grades: Grades, labels: Labels | None = None) -> dict[str, Picture]:
    """The pictures for which there are data, by file name."""
    pictures = {}
    pairs = set(zip(grades.assessors, grades.qids, strict=True))
    people = {"x": "assessors", "y": "queries"}
    if len(grades):  # as in the re-assessment study, figures 4.5 and 4.6
        pictures["grades"] = _grades(grades)
        assessors, queries = zip(*pairs, strict=True)
        done = {"x": "queries assessed", "y": "assessors"}
        pictures["queries-per-assessor"] = _histogram(assessors, title="Queries per assessor", **done)
        pictures["assessors-per-query"] = _histogram(queries, title="Assessors per query", **people)
    if any(level is not None for level in grades.english):
        pictures["english-levels"] = _english_levels(grades)
    if labels is not None and labels.kept:  # as in figure 4.7
        kept = set(labels.kept)
        of_kept = (qid for _, qid in pairs if qid in kept)
        pictures["assessors-per-kept-query"] = _histogram(of_kept, title="Assessors per kept query", **people)
        pictures["relevant-passages"] = _relevant_passages(labels)
        pictures["grades-per-query"] = _grades_per_query(labels)
    return pictures


def _grades(grades: Grades) -> Picture:
    """Histogram of the grades."""
    counts = Counter(grade for grade in grades.grades if grade is not None)
    unsure = len(grades) - counts.total()
    title = "Grades given" + (f" ({unsure:,} times: {CANNOT_TELL})" if unsure else "")
    if not counts:
        return columns({0: 0}, title=title, x="grade", y="answers")
    steps = range(min(counts), max(counts) + 1)
    return columns({grade: counts[grade] for grade in steps}, title=title, x="grade", y="answers")


def _histogram(names: Iterable[str], **labels: str) -> Picture:
    """How many names come how many times."""
    return columns(Counter(Counter(names).values()), **labels)


def _english_levels(grades: Grades) -> Picture:
    """Number of assessors by level of English (re-assessment study, figure 4.8)."""
    told = {who: level for who, level in zip(grades.assessors, grades.english, strict=True) if level is not None}
    counts = Counter(told.values())
    labels = [f"{level} ({cefr})" if cefr else f"{level}" for level, _, cefr in ENGLISH_LEVELS]
    series = {"assessors": [float(counts[level.level]) for level in ENGLISH_LEVELS]}
    return bars(labels, series, title="English levels of the assessors", x="assessors")


def _relevant_passages(labels: Labels) -> Picture:
    """Relevant passages of each query by label set (re-assessment study, figure 4.1)."""
    sets = {ORIGINAL: labels.original, **labels.binary} if labels.original else dict(labels.binary)
    counts = {name: [len(judged.relevant(qid)) for qid in labels.kept] for name, judged in sets.items()}
    return boxes(counts, title="Relevant passages per query", x="labels", y="relevant passages")


def _grades_per_query(labels: Labels) -> Picture:
    """The graded labels of each query, best queries first (re-assessment study, figure 4.2)."""
    steps = sorted({row.grade for row in labels.graded.rows()})
    counts = {qid: Counter(of_query.values()) for qid, of_query in labels.graded.items()}
    order = sorted(counts, key=lambda qid: [counts[qid][step] for step in reversed(steps)], reverse=True)
    series = {f"grade {step}": [float(counts[qid][step]) for qid in order] for step in steps}
    return stacked_bars(order, series, title="Grades per query", x="queries", y="passages")


SHOWN = "RR@10"


def group_pictures(experiments: Experiments, texts: Mapping[str, str]) -> dict[str, Picture]:
    """RR@10 of every run in each group of queries, a picture for each binary label set and way of grouping.

    `texts` are the queries' texts; without them there are no pictures.
    """
    qids = next(iter(experiments.measured[ORIGINAL].values())).qids
    known = {qid: texts[qid] for qid in qids if qid in texts}
    ways = {"query-length": by_length(known), "answer-type": by_answer_type(known)} if known else {}
    return {
        f"{name}-by-{way}": _picture(experiments, name, groups, f"By {way.replace('-', ' ')}, {name} labels")
        for way, groups in ways.items()
        for name in dict.fromkeys(one.about.removesuffix(" labels") for one in experiments.of_runs)
        if parse_measure(SHOWN) in next(iter(experiments.measured[name].values())).measures
    }


def _picture(experiments: Experiments, labels: str, groups: Groups, title: str) -> Picture:
    measure = parse_measure(SHOWN)
    labelled = [f"{name} ({len(members)})" for name, members in groups.items()]
    series = {}
    for run, evaluation in experiments.measured[labels].items():
        values = evaluation.per_query(measure)
        series[run] = [float(np.mean([values[qid] for qid in members])) for members in groups.values()]
    return bars(labelled, series, title=title, x=f"{SHOWN} (queries in brackets)", digits=3)


ABOUT_AGREEMENT = (
    "1 is perfect agreement and 0 what chance would give. Alpha takes missing answers into account and, on ordinal "
    "grades, that 1 and 2 are nearer than 1 and 5. Its interval comes from drawing queries. The majority that an "
    "assessor is compared with is that of the others."
)


@dataclass(frozen=True)
class Assessment:
    """The data of the assessment page."""

    grades: Grades
    rules: LabelRules
    labels: Labels
    agreement: Agreement
    experiments: Experiments | None = None
    texts: Mapping[str, str] = field(default_factory=dict)  # of the queries, for the results by kind of query


def assessment_page(assessment: Assessment, title: str, *, marks: str = "stars", command: str | None = None) -> Page:
    """The report as a page: the verdict first, then labels, agreement, assessors and experiments."""
    pictures = assessment_pictures(assessment.grades, assessment.labels)
    parts: list[Part] = [
        *(_verdict(assessment.experiments, marks) if assessment.experiments else []),
        Heading("Labels"),
        Text(_rules(assessment.rules)),
        TablePart(labels_table(assessment.labels, assessment.rules.thresholds, assessment.rules.lowest)),
        TablePart(fates_table(assessment.labels)),
        *_shown(pictures, "relevant-passages", "grades-per-query", "grades"),
        Heading("Agreement"),
        Text(ABOUT_AGREEMENT),
        TablePart(agreement_table(assessment.agreement)),
        *map(Note, assessment.agreement.warnings()),
        Heading("Assessors"),
        TablePart(assessors_table(assessment.agreement)),
        *_shown(pictures, "queries-per-assessor", "assessors-per-query", "assessors-per-kept-query", "english-levels"),
        *(_experiments(assessment.experiments, marks) if assessment.experiments else []),
        *(_kinds(assessment.experiments, assessment.texts) if assessment.experiments else []),
    ]
    return Page(title, parts, command)


def _verdict(experiments: Experiments, marks: str) -> list[Part]:
    said = (
        f"{experiments.queries} queries; a positive difference is a higher value, which is worse for MFR. Differences "
        f"are tested query by query (paired t-test). {mark(marks).legend} {IN_BRACKETS}"
    )
    return [
        Heading("Does the verdict hold?"),
        TablePart(verdict_table(experiments, marks)),
        Text(said),
        *map(Note, experiments.notes),
    ]


def _experiments(experiments: Experiments, marks: str) -> list[Part]:
    return [
        Heading("Old labels against new"),
        *(TablePart(experiment_table(one, marks)) for one in experiments.all if one.first == ORIGINAL),
        Heading("Run against run"),
        *(TablePart(experiment_table(one, marks)) for one in experiments.of_runs),
        Heading("Passages that nobody judged"),
        TablePart(unjudged_table(experiments)),
    ]


def _kinds(experiments: Experiments, texts: Mapping[str, str]) -> list[Part]:
    pictures = group_pictures(experiments, texts)
    return [Heading("Kinds of queries"), *map(PicturePart, pictures.values())] if pictures else []


def _rules(rules: LabelRules) -> str:
    sets = " and ".join(f"{name} from grade {threshold}" for name, threshold in rules.thresholds.items())
    english = f" with English of level {rules.english} or more" if rules.english is not None else ""
    return (
        f"Binary labels by majority vote ({sets}), graded ones by the ceiled median, of queries with at least "
        f"{rules.assessors} assessors{english}."
    )


def _shown(pictures: dict[str, Picture], *names: str) -> list[PicturePart]:
    return [PicturePart(pictures[name]) for name in names if name in pictures]
