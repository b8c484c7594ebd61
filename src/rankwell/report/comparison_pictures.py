"""The pictures of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwell.evaluate.breakdown import top_grades
from rankwell.evaluate.comparison import Comparison
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures import MFR, Measure
from rankwell.evaluate.pool import Values
from rankwell.evaluate.query_groups import Groups
from rankwell.evaluate.roc import auc, roc_curve
from rankwell.evaluate.scores import score_distribution
from rankwell.plots import Line, Picture, bars, differences, lines, spread, stacked_bars

FIRST_RANKS = (1, 2, 3, 5, 10, 20, 50, 100)  # the last rank of each group of first relevant documents
ROC_POINTS = 200


def difference_pictures(comparison: Comparison) -> list[Picture]:
    """Per-query differences by the first measure, a picture a run."""
    measure = shown_measure(comparison)
    if measure is None:
        return []
    base = comparison.evaluations[comparison.baseline].array(measure)
    better = 1 if measure.higher_is_better else -1
    pictures = []
    for run, evaluation in comparison.evaluations.items():
        found = evaluation.array(measure) - base
        found = found[np.isfinite(found)]
        if run != comparison.baseline and len(found):
            title, y = f"{run} against {comparison.baseline}", f"difference in {measure}"
            pictures.append(differences(found, title=title, y=y, better=better))
    return pictures


def shown_measure(comparison: Comparison) -> Measure | None:
    """The first measure with a value for each query, which is what pictures show; None where there is none."""
    return next((measure for measure in comparison.measures if measure.is_mean), None)


def first_relevant(comparison: Comparison, rel: int = 1) -> Picture:
    """At which rank the first relevant document stands, in groups of ranks."""
    labels = _rank_names()
    counts = {run: _first_ranks(judged, rel) for run, judged in comparison.judged.items()}
    return bars(labels, counts, title="Rank of the first relevant document", x="queries")


def grades_on_top(comparison: Comparison, depth: int = 10) -> Picture:
    """The top k of each run by grade, unjudged documents first."""
    broken = {run: top_grades(judged, depth) for run, judged in comparison.judged.items()}
    grades = sorted(next(iter(broken.values())).grades)
    series: dict[str, list[float]] = {"unjudged": [float(found.unjudged) for found in broken.values()]}
    series |= {f"grade {grade}": [float(found.grades[grade]) for found in broken.values()] for grade in grades}
    return stacked_bars(
        list(broken), series, title=f"Grades in the top {depth}", x="runs", y="documents", apart="unjudged"
    )


def score_pictures(comparison: Comparison, rel: int = 1) -> list[Picture]:
    """How far the scores of relevant and not relevant documents lie apart, a picture a run."""
    pictures = []
    for run, judged in comparison.judged.items():
        found = score_distribution(judged, rel)
        groups = {"relevant": found.relevant, "not relevant": found.not_relevant}
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
    title, x_name = "ROC over judged documents", "not relevant found"
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


def known_groups(groups: Mapping[str, tuple[str, ...]], qids: tuple[str, ...]) -> Groups:
    """The groups without queries that nobody judged; empty ones are left out."""
    judged = set(qids)
    kept = {name: tuple(qid for qid in members if qid in judged) for name, members in groups.items()}
    return {name: members for name, members in kept.items() if members}


def _mean(values: Values) -> float:
    """The mean of the values that there are."""
    there = values[np.isfinite(values)]
    return float(there.mean()) if len(there) else float("nan")


def _rank_names() -> list[str]:
    names = [
        str(last) if last - before == 1 else f"{before + 1}-{last}"
        for before, last in zip((0, *FIRST_RANKS), FIRST_RANKS, strict=False)
    ]
    return [*names, f"below {FIRST_RANKS[-1]} or none"]


def _first_ranks(judged: Judged, rel: int) -> list[float]:
    first: Measure = MFR(cutoff=FIRST_RANKS[-1], rel=rel)
    groups = np.searchsorted(FIRST_RANKS, first(judged))
    return [float(count) for count in np.bincount(groups, minlength=len(FIRST_RANKS) + 1)]
