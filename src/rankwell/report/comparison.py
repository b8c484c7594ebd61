"""A comparison as tables, pictures and one HTML page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwell.core import Judgments, Run
from rankwell.evaluation.comparison import Comparison
from rankwell.evaluation.evaluation import Evaluation
from rankwell.evaluation.judged import Values
from rankwell.evaluation.measures import MFR, Measure
from rankwell.evaluation.query_groups import AnswerType, Groups, by_answer_type, by_length, by_relevant
from rankwell.evaluation.run_analysis import auc, roc_curve, score_distribution, top_grades
from rankwell.evaluation.significance import mark
from rankwell.report.html import Heading, Link, Note, Page, Part, PicturePart, TablePart, Text
from rankwell.report.pictures import Line, Picture, bars, differences, lines, spread, stacked_bars
from rankwell.report.table import Cell, Column, Marked, Table, cell_text
from rankwell.report.workbench import Workbench

FIRST_RANKS = (1, 2, 3, 5, 10, 20, 50, 100)  # the last rank of each group of first relevant documents
ROC_POINTS = 200
TWO = 2  # runs, of which there is one pair
EACH_QUERY = "each-query"  # the name of a heading


def difference_pictures(comparison: Comparison) -> list[Picture]:
    """Per-query differences by the first measure, a picture a run."""
    measure = shown_measure(comparison)
    if measure is None:
        return []
    base = comparison.evaluations[comparison.baseline].array(measure)
    better = 1 if measure.higher_is_better else -1
    pictures = []
    for run, evaluation in comparison.evaluations.items():
        by_query = evaluation.array(measure) - base
        by_query = by_query[np.isfinite(by_query)]
        if run != comparison.baseline and len(by_query):
            title, y = f"{run} against {comparison.baseline}", f"difference in {measure}"
            pictures.append(differences(by_query, title=title, y=y, better=better))
    return pictures


def shown_measure(comparison: Comparison) -> Measure | None:
    """The first measure with a value for each query, for the pictures; None where there is none."""
    return next((measure for measure in comparison.measures if measure.is_mean), None)


def first_relevant(comparison: Comparison, rel: int = 1) -> Picture:
    """Histogram of the first relevant document's rank, in groups of ranks."""
    labels = [
        str(last) if last - before == 1 else f"{before + 1}-{last}"
        for before, last in zip((0, *FIRST_RANKS), FIRST_RANKS, strict=False)
    ]
    labels.append(f"below {FIRST_RANKS[-1]} or none")
    first: Measure = MFR(cutoff=FIRST_RANKS[-1], rel=rel)
    groups = {run: np.searchsorted(FIRST_RANKS, first(judged)) for run, judged in comparison.judged.items()}
    counts = {run: np.bincount(of, minlength=len(labels)).astype(float).tolist() for run, of in groups.items()}
    return bars(labels, counts, title="Rank of the first relevant document", x="queries")


def grades_on_top(comparison: Comparison, depth: int = 10) -> Picture:
    """The top k of each run by grade, unjudged documents first."""
    broken = {run: top_grades(judged, depth) for run, judged in comparison.judged.items()}
    grades = sorted(next(iter(broken.values())).grades)
    series: dict[str, list[float]] = {"unjudged": [float(top.unjudged) for top in broken.values()]}
    series |= {f"grade {grade}": [float(top.grades[grade]) for top in broken.values()] for grade in grades}
    return stacked_bars(
        list(broken), series, title=f"Grades in the top {depth}", x="runs", y="documents", apart="unjudged"
    )


def score_pictures(comparison: Comparison, rel: int = 1) -> list[Picture]:
    """Score distributions of relevant and not relevant documents, a picture a run."""
    pictures = []
    for run, judged in comparison.judged.items():
        scores = score_distribution(judged, rel)
        groups = {"relevant": scores.relevant, "not relevant": scores.not_relevant}
        if any(len(values) for values in groups.values()):
            pictures.append(spread(groups, title=f"Scores of {run}", x="score"))
    return pictures


def roc_picture(comparison: Comparison, rel: int = 1) -> Picture | None:
    """ROC curves of all runs; None where no run has both kinds of documents."""
    curves = []
    for run, judged in comparison.judged.items():
        area = auc(judged.relevant(rel), judged.score)
        if np.isfinite(area):
            curve = roc_curve(judged, rel)
            shown = np.unique(np.linspace(0, len(curve.true_positives) - 1, ROC_POINTS).astype(int))
            x, y = curve.false_positives[shown].tolist(), curve.true_positives[shown].tolist()
            curves.append(Line(f"{run}, AUC {area:.3f}", x, y))
    chance = Line("chance", [0.0, 1.0], [0.0, 1.0])
    title, x_name = "ROC over returned documents that are judged", "not relevant found"
    return lines([*curves, chance], title=title, x=x_name, y="relevant found") if curves else None


def group_picture(comparison: Comparison, measure: Measure, groups: Groups, title: str) -> Picture:
    """A measure's mean in each group of queries, every run beside the others."""
    places = {qid: place for place, qid in enumerate(comparison.evaluations[comparison.baseline].qids)}
    labels = [f"{name} ({len(qids)})" for name, qids in groups.items()]
    series = {
        run: [_mean(evaluation.array(measure)[[places[qid] for qid in qids]]) for qids in groups.values()]
        for run, evaluation in comparison.evaluations.items()
    }
    return bars(labels, series, title=title, x=f"{measure} (queries in brackets)", digits=3)


def _mean(values: Values) -> float:
    """The mean of the finite values."""
    there = values[np.isfinite(values)]
    return float(there.mean()) if len(there) else float("nan")


DIGITS = 4
COULD_BE = "What judging the unjudged documents could lead to"


def _words(*names: str) -> list[Column]:
    return [Column(name, "left") for name in names]


def _figures(*names: str) -> list[Column]:
    return [Column(name, digits=DIGITS) for name in names]


RUN = (
    *_words("run"),
    *_figures("mean", "from", "to", "difference", "diff. from", "diff. to", "p"),
    *(Column("mark", "left"), Column("effect", digits=2), Column("wins/ties/losses", "left")),
    *(Column("judged@10", digits=2), Column("queries")),
)
# Support: the judged share of the top 10, the unjudged documents in it, and the number of queries.
SUPPORT = (Column("judged@10", digits=2), Column("unjudged"), Column("queries"))
BOUNDS = (*_words("measure"), *_figures("worst case", "unjudged as not relevant", "best case"))
ENDS = (*_figures("worst case", "best case", "diff. lowest", "diff. highest"), Column("turned by"))
PAIR = (
    *_words("measure", "run", "against"),
    *_figures("difference", "diff. from", "diff. to", "p"),
    *(Column("mark", "left"), *_figures("Tukey p"), Column("wins/ties/losses", "left")),
)
TREATED = {"zero": "", "remove": "; unjudged documents removed", "bounds": "; unjudged documents not relevant"}


def comparison_table(comparison: Comparison, marks: str = "stars") -> Table:
    """A row for every measure and run: mean, difference to the baseline, intervals, p-value, wins and losses."""
    bounded = bool(comparison.evaluations[comparison.baseline].bounds)
    rows = [
        [str(measure), *_row(comparison, measure, run, marks), *(_ends(comparison, run, measure) if bounded else ())]
        for measure in comparison.measures
        for run in comparison.evaluations
    ]
    return Table(_title(comparison), [*_words("measure"), *RUN, *(ENDS if bounded else ())], rows)


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
    columns = _words("run", *map(str, comparison.measures))
    rows: list[list[Cell]] = [
        [run, *(_marked(comparison, run, measure, marks) for measure in comparison.measures)]
        for run in comparison.evaluations
    ]
    return Table(f"{comparison.queries} queries", columns, rows)


def grades_table(comparison: Comparison, depth: int = 10) -> Table:
    """Number of documents of each grade in the top k of each run."""
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
    columns = [*_words("run"), *_figures(*map(str, measures)), *SUPPORT]
    rows: list[list[Cell]] = [
        [run, *(evaluation.mean(measure) for measure in measures), *_support(evaluation)]
        for run, evaluation in evaluations.items()
    ]
    return Table(f"Means{TREATED[next(iter(evaluations.values())).unjudged]}", columns, rows)


def bounds_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Bounds of each mean over all possible grades of the unjudged documents."""
    rows: list[list[Cell]] = []
    for run, evaluation in evaluations.items():
        for measure in evaluation.bounds:
            worst, best = evaluation.mean_bounds(measure)
            rows.append([run, str(measure), worst, evaluation.mean(measure), best, *_support(evaluation)])
    return Table(COULD_BE, [*_words("run"), *BOUNDS, *SUPPORT], rows)


def per_query_bounds_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Bounds of every query's value."""
    rows: list[list[Cell]] = []
    for place, qid in enumerate(next(iter(evaluations.values())).qids):
        for run, evaluation in evaluations.items():
            for measure, ends in evaluation.bounds.items():
                middle = float(evaluation.array(measure)[place])
                rows.append([qid, run, str(measure), float(ends.worst[place]), middle, float(ends.best[place])])
    return Table(COULD_BE, [*_words("query", "run"), *BOUNDS], rows)


def per_query_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """A row for every query and run."""
    measures = next(iter(evaluations.values())).measures
    columns = [*_words("query", "run"), *_figures(*map(str, measures))]
    rows: list[list[Cell]] = [
        [qid, run, *(float(evaluation.array(measure)[place]) for measure in measures)]
        for place, qid in enumerate(next(iter(evaluations.values())).qids)
        for run, evaluation in evaluations.items()
    ]
    return Table(f"Per query{TREATED[next(iter(evaluations.values())).unjudged]}", columns, rows)


def _ends(comparison: Comparison, run: str, measure: Measure) -> tuple[Cell, ...]:
    """Bounds of the mean, and of the difference with the number of judgments that would turn its sign."""
    evaluation, joint = comparison.evaluations[run], comparison.joint.get((run, measure))
    own = evaluation.mean_bounds(measure) if measure in evaluation.bounds else (None, None)
    if joint is None:
        return (*own, None, None, None)
    return (*own, joint.mean_low, joint.mean_high, len(joint.turning) or None)


def joint_table(comparison: Comparison) -> Table:
    """Bounds of each difference to the baseline, and the number of judgments that would turn its sign."""
    columns = [*_words("run", "measure"), *_figures("difference", "lowest", "highest"), Column("turned by")]
    rows: list[list[Cell]] = []
    for (run, measure), both in comparison.joint.items():
        ends = "exact" if both.exact else "may not be reached"
        figures = (both.difference, both.mean_low, both.mean_high, len(both.turning) or None)
        rows.append([run, str(measure), *figures, ends])
    title = f"What judging could do to the differences to {comparison.baseline}"
    return Table(title, [*columns, *_words("ends")], rows)


def pairs_table(comparison: Comparison, marks: str = "stars") -> Table:
    """A row for each pair of runs; both p-values are corrected for all pairs."""
    rows: list[list[Cell]] = []
    for pair in comparison.pairs():
        found = pair.found
        record = f"{found.wins}/{found.ties}/{found.losses}"
        figures = (found.mean, *found.interval, pair.corrected_p, mark(marks).of(pair.corrected_p), pair.tukey_p)
        rows.append([str(pair.measure), pair.second, pair.first, *figures, record])
    return Table(f"All pairs, {comparison.test.level:.0%} intervals", PAIR, rows)


def _title(comparison: Comparison) -> str:
    treated = TREATED[comparison.evaluations[comparison.baseline].unjudged]
    return f"Compared with {comparison.baseline}, {comparison.test.level:.0%} intervals{treated}"


def _support(evaluation: Evaluation) -> tuple[Cell, ...]:
    return (evaluation.judged_share, evaluation.unjudged_on_top, evaluation.queries)


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
        tested, p = difference.found, difference.corrected_p
        record = f"{tested.wins}/{tested.ties}/{tested.losses}"
        ends = (tested.interval.low, tested.interval.high)
        cells += [tested.mean, *ends, p, mark(marks).of(p), tested.effect_size, record]
    return [*cells, evaluation.judged_share, queries if measure.is_mean else evaluation.queries]


def _marked(comparison: Comparison, run: str, measure: Measure, marks: str) -> Marked:
    difference = comparison.difference(run, measure)
    sign = "" if difference is None else mark(marks).of(difference.corrected_p)
    mean = comparison.evaluations[run].mean(measure)
    return Marked(cell_text(mean, Column("", digits=DIGITS)) + sign, mean)


def comparison_page(
    comparison: Comparison,
    *,
    texts: Mapping[str, str] | None = None,
    answer_types: Mapping[str, AnswerType | None] | None = None,
    marks: str = "stars",
    command: str | None = None,
    workbench: Workbench | None = None,
) -> Page:
    """The page. `texts` are the queries' texts, for results by length and answer type; `answer_types` overrides.

    With `workbench` (see `query_workbench`) the page ends with each query, and both rankings of it.
    """
    others = [run for run in comparison.evaluations if run != comparison.baseline]
    title = f"{', '.join(others)} against {comparison.baseline}" if others else comparison.baseline
    parts: list[Part] = [
        *_verdict(comparison, marks),
        Heading("Query by query"),
        *map(PicturePart, difference_pictures(comparison)),
        *(_of_judgments(comparison) if comparison.judged else []),  # none where it was made from a data frame
    ]
    if texts:
        parts += _by_group(comparison, texts, answer_types)
    if workbench is not None and workbench.others:
        parts = [Link("To each query: what changed, and both rankings", EACH_QUERY), *parts]
        parts += [Heading("Each query", name=EACH_QUERY), workbench]
    return Page(title, parts, command)


def _of_judgments(comparison: Comparison) -> list[Part]:
    roc = roc_picture(comparison)
    return [
        PicturePart(first_relevant(comparison)),
        Heading("Scores and grades"),
        TablePart(grades_table(comparison)),
        PicturePart(grades_on_top(comparison)),
        *([PicturePart(roc)] if roc else []),
        *map(PicturePart, score_pictures(comparison)),
    ]


def query_workbench(
    comparison: Comparison,
    judgments: Judgments,
    runs: Mapping[str, Run],
    *,
    texts: Mapping[str, str] | None = None,
    answer_types: Mapping[str, AnswerType | None] | None = None,
    groups: Groups | None = None,
) -> Workbench | None:
    """The queries one by one, for `comparison_page`; None where no measure has a value for each query.

    `judgments` and `runs` are those that were compared, `groups` are groups of queries of your own.
    """
    measure, qids = shown_measure(comparison), comparison.evaluations[comparison.baseline].qids
    if measure is None:
        return None
    rel = int(getattr(measure, "rel", 1))
    ways = {"By relevant documents": by_relevant(judgments, qids, rel)}
    if groups:
        ways = {"By your groups": groups, **ways}
    if texts:
        ways |= _groupings({qid: text for qid, text in texts.items() if qid in set(qids)}, answer_types)
    return Workbench(comparison, judgments, runs, measure, texts or {}, groups=ways)


def _groupings(texts: Mapping[str, str], answer_types: Mapping[str, AnswerType | None] | None) -> dict[str, Groups]:
    return {"By query length": by_length(texts), "By answer type": by_answer_type(texts, answer_types)}


def _verdict(comparison: Comparison, marks: str) -> list[Part]:
    test, evaluation = comparison.test, comparison.evaluations[comparison.baseline]
    corrected = "" if comparison.correction == "none" else f", corrected for several runs ({comparison.correction})"
    said = (
        f"{comparison.queries} queries; a query that a run lacks counts as 0. Differences are tested query by query "
        f"({test.name}{corrected}). {mark(marks).legend}"
    )
    return [
        Heading("What came out"),
        TablePart(compact_table(comparison, marks)),
        Text(said),
        *map(Note, comparison.warnings()),
        *map(TablePart, measure_tables(comparison, marks)),
        *([TablePart(pairs_table(comparison, marks))] if len(comparison.evaluations) > TWO else []),
        *([TablePart(bounds_table(comparison.evaluations))] if evaluation.bounds else []),
        *([TablePart(joint_table(comparison))] if comparison.joint else []),
    ]


def _by_group(
    comparison: Comparison, texts: Mapping[str, str], answer_types: Mapping[str, AnswerType | None] | None
) -> list[Part]:
    """Pictures by groups of the judged queries."""
    measure, qids = shown_measure(comparison), set(comparison.evaluations[comparison.baseline].qids)
    if measure is None:
        return []
    judged = {qid: text for qid, text in texts.items() if qid in qids}
    both = _groupings(judged, answer_types)
    drawn = [group_picture(comparison, measure, groups, title) for title, groups in both.items() if groups]
    return [Heading("Kinds of queries"), *map(PicturePart, drawn)]
