"""The re-assessment study's six experiments on whether a comparison of runs holds under new labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankwell.core import ParameterError, RankwellError, Run
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
    binary = {ORIGINAL: labels.original, **labels.binary}
    measured = {name: evaluate(judged, runs, BINARY_MEASURES) for name, judged in binary.items()}
    measured[GRADED] = evaluate(labels.graded, runs, graded_measures(lowest))
    baseline, *others = runs
    experiments = []
    for run in runs:
        for name in labels.binary:
            outcomes = _outcomes(measured[ORIGINAL][run], measured[name][run], labels.kept, test)
            experiments.append(Experiment(1 if run == baseline else 2, run, ORIGINAL, name, outcomes))
    for number, (name, of_runs) in enumerate(measured.items(), 3):
        for other in others:
            outcomes = _outcomes(of_runs[baseline], of_runs[other], labels.kept, test)
            experiments.append(Experiment(number, f"{name} labels", baseline, other, outcomes))
    return Experiments(tuple(experiments), len(labels.kept), tuple(_notes(labels, measured[GRADED])), measured)


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
    first: Evaluation, second: Evaluation, qids: Sequence[str], test: PairedTest
) -> tuple[ExperimentOutcome, ...]:
    outcomes = []
    for measure in first.measures:
        before, after = first.per_query(measure), second.per_query(measure)
        difference = test(
            [after[qid] for qid in qids], [before[qid] for qid in qids], higher_is_better=measure.higher_is_better
        )
        outcomes.append(ExperimentOutcome(measure, first.mean(measure), second.mean(measure), difference))
    return tuple(outcomes)


def _notes(labels: Labels, evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """Notes on few queries, on queries that a run lacks, and on the share of unjudged passages."""
    few = too_few_queries(len(labels.kept))
    if few:
        yield few
    for run, of_run in evaluations.items():
        if of_run.missing:
            yield f"{run} lacks {len(of_run.missing)} of {of_run.queries} queries, which count with the worst value"
        if of_run.judged_share < 1 - MANY_UNJUDGED:
            yield (
                f"{1 - of_run.judged_share:.0%} of the top 10 of {run} were never judged and count as not relevant: "
                "a run that the pool was not made of is worth more than it seems"
            )
