"""The re-assessment study's six experiments on whether a comparison of runs holds under new labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankwell.core import Judgments, ParameterError, RankwellError, Run
from rankwell.evaluation import Evaluation, Measure, evaluate, parse_measure
from rankwell.evaluation.comparison import MANY_UNJUDGED
from rankwell.evaluation.significance import PairedDifference, PairedTest, TTest, too_few_queries
from rankwell.judging.labels import GRADED, KEPT, NOT_CONFIRMED, ORIGINAL, Labels

BINARY_MEASURES = ("RR@5", "RR@10", "MFR@5", "MFR@10", "P@5", "P@10")
GRADED_CUTOFFS = (5, 10, 20)


@dataclass(frozen=True)
class ExperimentOutcome:
    """Two means by one measure, and the test of their difference (second minus first)."""

    measure: Measure
    first: float
    second: float
    found: PairedDifference
    deeper: bool = False  # whether the measure looks deeper than a run was judged


@dataclass(frozen=True)
class Experiment:
    """Two things compared query by query: two label sets with one run, or two runs with one label set."""

    number: int
    about: str  # what stays the same: a run, or a label set
    first: str
    second: str
    outcomes: tuple[ExperimentOutcome, ...]

    @property
    def title(self) -> str:
        """Number, what stays the same, and the two sides."""
        return f"Experiment {self.number}: {self.about}, {self.first} against {self.second}"


@dataclass(frozen=True)
class Experiments:
    """All experiments over the same queries, and notes for the reader."""

    all: tuple[Experiment, ...]
    queries: int
    notes: tuple[str, ...]
    measured: Mapping[str, Mapping[str, Evaluation]]  # by label set and run
    condensed: Mapping[str, Mapping[str, Evaluation]]  # the same without the unjudged passages
    bounded: Mapping[str, Mapping[str, Evaluation]]  # the same with bounds, where measures have them
    depths: Mapping[str, int]  # by run: the rank down to which nearly all was judged

    @property
    def of_runs(self) -> tuple[Experiment, ...]:
        """The experiments that compare the other runs with the first."""
        return tuple(one for one in self.all if one.first != ORIGINAL)


def graded_measures(lowest: int) -> tuple[Measure, ...]:
    """NDCG at 5, 10 and 20 as in the re-assessment study: the original DCG; unjudged passages get the lowest grade.

    The study divides by "the ideal form of the list". Its figures rise from 5 to 20 (BM25: .787, .828, .915), so it is
    the ideal order of the whole list and not of its top k. Both of its runs hold the same hundred passages, all judged
    ones among them: so it is the ideal of all judged passages, which any run can be compared with.
    """
    unjudged = f",unjudged={lowest}" if lowest > 0 else ""
    return tuple(parse_measure(f"nDCG(dcg='original'{unjudged})@{cutoff}") for cutoff in GRADED_CUTOFFS)


def run_experiments(
    labels: Labels, runs: Mapping[str, Run], *, lowest: int = 1, test: PairedTest | None = None
) -> Experiments:
    """The re-assessment study's experiments on given runs. The first run is the baseline (the study: BM25 and BERT).

        1  the baseline: original labels against each new binary set (the study: Liberal, Strict)
        2  the same for each other run
        3  each other run against the baseline, original labels
        4  the same with the liberal labels
        5  the same with the strict labels
        6  the same with the graded labels

    The binary sets are measured by MRR, MFR and P at 5 and 10, the graded one by nDCG at 5, 10 and 20. All are over the
    queries that were kept. Differences are tested with the paired t-test, as in the study without a correction for the
    number of tests. A passage that nobody judged is not relevant.
    """
    _check(labels, runs)
    test = test or TTest()
    sets = {ORIGINAL: labels.original, **labels.binary, GRADED: labels.graded}
    measures = {name: graded_measures(lowest) if name == GRADED else BINARY_MEASURES for name in sets}
    measured, condensed = (
        {name: evaluate(judged, runs, measures[name], unjudged=policy) for name, judged in sets.items()}
        for policy in ("zero", "remove")
    )
    can = [name for name, asked in measures.items() if any(parse_measure(one).has_bounds for one in asked)]
    bounded = {name: evaluate(sets[name], runs, measures[name], unjudged="bounds") for name in can}
    depths = {name: judged_depth(labels.graded, run) for name, run in runs.items()}
    baseline, *others = runs
    experiments = []
    for run in runs:
        for name in labels.binary:
            outcomes = _outcomes(measured[ORIGINAL][run], measured[name][run], labels.kept, test, depths[run])
            experiments.append(Experiment(1 if run == baseline else 2, run, ORIGINAL, name, outcomes))
    for number, (name, of_runs) in enumerate(measured.items(), 3):
        for other in others:
            depth = None if name == ORIGINAL else min(depths[baseline], depths[other])
            outcomes = _outcomes(of_runs[baseline], of_runs[other], labels.kept, test, depth)
            experiments.append(Experiment(number, f"{name} labels", baseline, other, outcomes))
    notes = tuple(_notes(labels, measured[GRADED], depths))
    return Experiments(tuple(experiments), len(labels.kept), notes, measured, condensed, bounded, depths)


NEARLY_ALL = 0.9
DEEPEST = 100


def judged_depth(judgments: Judgments, run: Run) -> int:
    """The rank down to which nearly all of a run is judged: at each rank at least nine queries of ten.

    A pool of depth 5 gives 5 or a little more for the runs that it was made of, and about 0 for others.
    """
    rankings = [run[qid].docnos[:DEEPEST].tolist() if qid in run else [] for qid in judgments]
    for rank in range(DEEPEST):
        known = [of[rank] in judgments[qid] for qid, of in zip(judgments, rankings, strict=True) if len(of) > rank]
        if sum(known) < NEARLY_ALL * len(known):
            return rank
    return DEEPEST


def _check(labels: Labels, runs: Mapping[str, Run]) -> None:
    if len(runs) < 2:  # noqa: PLR2004 -- a baseline and another
        raise ParameterError("runs", expected="a baseline and at least one other run", found=list(runs))
    if {ORIGINAL, GRADED, *labels.binary} & runs.keys():
        expected = "names of runs that are not names of label sets"
        raise ParameterError("runs", expected=expected, found=list(runs))
    if not labels.kept:
        fates = Counter(fate for fate in labels.fates.values() if fate != KEPT)
        why = ", ".join(f"{fate}: {count}" for fate, count in fates.items()) or "no grades"
        way_out = " (--no-confirmed keeps queries without that)" if NOT_CONFIRMED in fates else ""
        raise RankwellError(f"labels: expected at least one query to measure with, found none: {why}{way_out}")
    strange = [qid for qid in labels.kept if qid not in labels.original]
    if strange:
        expected = "original judgments of every query that was kept"
        raise ParameterError("original", expected=expected, found=f"none of {strange[0]}")


def _outcomes(
    first: Evaluation, second: Evaluation, qids: Sequence[str], test: PairedTest, judged: int | None
) -> tuple[ExperimentOutcome, ...]:
    outcomes = []
    for measure in first.measures:
        before, after = first.per_query(measure), second.per_query(measure)
        difference = test(
            [after[qid] for qid in qids], [before[qid] for qid in qids], higher_is_better=measure.higher_is_better
        )
        deeper = judged is not None and (measure.depth or DEEPEST) > judged
        outcomes.append(ExperimentOutcome(measure, first.mean(measure), second.mean(measure), difference, deeper))
    return tuple(outcomes)


def _notes(labels: Labels, evaluations: Mapping[str, Evaluation], depths: Mapping[str, int]) -> Iterator[str]:
    """Notes on few queries, on queries that a run lacks, and on measures that look deeper than a run was judged."""
    few = too_few_queries(len(labels.kept))
    if few:
        yield few
    for run, of_run in evaluations.items():
        if of_run.missing:
            yield f"{run} lacks {len(of_run.missing)} of {of_run.queries} queries, which count with the worst value"
        cutoffs = sorted(
            {measure.depth or DEEPEST for measure in (*map(parse_measure, BINARY_MEASURES), *of_run.measures)}
        )
        deeper = [f"@{cutoff}" for cutoff in cutoffs if cutoff > depths[run]]
        if 2 * depths[run] < max(depths.values()) and of_run.judged_share < 1 - MANY_UNJUDGED:
            yield (
                f"{1 - of_run.judged_share:.0%} of the top 10 of {run} were never judged and count as not relevant: "
                f"other runs are judged down to rank {max(depths.values())} and this one to rank {depths[run]}, so the "
                "pool was not made of it, and it may be better than it seems"
            )
        elif deeper and of_run.judged_share < 1:
            yield (
                f"{run} is judged down to rank {depths[run]}, and measures {', '.join(deeper)} look deeper: what "
                "nobody was asked about counts as not relevant, and differences may come from that alone (marks in "
                "brackets); see the figures without unjudged passages, and their bounds"
            )
