"""Does a verdict hold under new labels? The six experiments of S1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankwell.assess.keeping import KEPT, NOT_CONFIRMED
from rankwell.assess.labels import GRADED, ORIGINAL, Labels
from rankwell.core import ParameterError, RankwellError, Run
from rankwell.evaluate import Evaluation, Measure, evaluate, parse_measure
from rankwell.evaluate.comparison import MANY_UNJUDGED
from rankwell.evaluate.significance import PairedDifference, PairedTest, TTest, too_few_queries

BINARY_MEASURES = ("RR@5", "RR@10", "MFR@5", "MFR@10", "P@5", "P@10")
GRADED_CUTOFFS = (5, 10, 20)


@dataclass(frozen=True)
class Outcome:
    """Two means by one measure, and how sure their difference (second minus first) is."""

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
    outcomes: tuple[Outcome, ...]

    @property
    def title(self) -> str:
        """What is compared with what."""
        return f"Experiment {self.number}: {self.about}, {self.first} against {self.second}"


@dataclass(frozen=True)
class Experiments:
    """All of them, over the same queries, with what a reader should know."""

    all: tuple[Experiment, ...]
    queries: int
    notes: tuple[str, ...]
    measured: Mapping[str, Mapping[str, Evaluation]]  # by label set and run

    @property
    def of_labels(self) -> tuple[Experiment, ...]:
        """Old labels against new, run by run."""
        return tuple(one for one in self.all if one.first == ORIGINAL)

    @property
    def of_runs(self) -> tuple[Experiment, ...]:
        """Runs against the first, label set by label set."""
        return tuple(one for one in self.all if one.first != ORIGINAL)


def graded_measures(lowest: int) -> tuple[Measure, ...]:
    """NDCG at 5, 10 and 20 as S1 has it: the original discount, and the lowest grade for what nobody judged.

    S1 divides by "the ideal form of the list". Its figures rise from 5 to 20 (BM25: .787, .828, .915), which fits the
    whole list's best order and not that of the top k alone; and as both of its runs hold the same hundred passages,
    all judged ones among them, that is the ideal of all judged passages, with which any runs can be compared.
    """
    unjudged = f",unjudged={lowest}" if lowest > 0 else ""
    return tuple(parse_measure(f"nDCG(dcg='original'{unjudged})@{cutoff}") for cutoff in GRADED_CUTOFFS)


def run_experiments(
    labels: Labels, runs: Mapping[str, Run], *, lowest: int = 1, test: PairedTest | None = None
) -> Experiments:
    """S1's experiments on given runs, the first of them the baseline (S1: BM25 and BERT).

        1  the baseline: original labels against each new binary set (S1: Liberal, Strict)
        2  the same for each other run
        3  each other run against the baseline, original labels
        4  the same with the liberal labels
        5  the same with the strict labels
        6  the same with the graded labels

    The binary sets are measured by MRR, MFR and P at 5 and 10, the graded one by nDCG at 5, 10 and 20. All are over the
    queries that were kept, differences are tested query by query (the paired t-test, as in S1 without a correction for
    the number of tests), and a passage that nobody judged is not relevant.
    """
    _check(labels, runs)
    test = test or TTest()
    binary = {ORIGINAL: labels.original, **labels.binary}
    measured = {name: evaluate(judged, runs, BINARY_MEASURES) for name, judged in binary.items()}
    measured[GRADED] = evaluate(labels.graded, runs, graded_measures(lowest))
    baseline, *others = runs
    found = []
    for run in runs:
        for name in labels.binary:
            pair = measured[ORIGINAL][run], measured[name][run]
            outcomes = _outcomes(*pair, labels.kept, test)
            found.append(Experiment(1 if run == baseline else 2, run, ORIGINAL, name, outcomes))
    for number, (name, of_runs) in enumerate(measured.items(), 3):
        for other in others:
            outcomes = _outcomes(of_runs[baseline], of_runs[other], labels.kept, test)
            found.append(Experiment(number, f"{name} labels", baseline, other, outcomes))
    return Experiments(tuple(found), len(labels.kept), tuple(_notes(labels, measured[GRADED])), measured)


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


def _outcomes(first: Evaluation, second: Evaluation, qids: Sequence[str], test: PairedTest) -> tuple[Outcome, ...]:
    outcomes = []
    for measure in first.measures:
        before, after = first.per_query(measure), second.per_query(measure)
        difference = test(
            [after[qid] for qid in qids], [before[qid] for qid in qids], higher_is_better=measure.higher_is_better
        )
        outcomes.append(Outcome(measure, first.mean(measure), second.mean(measure), difference))
    return tuple(outcomes)


def _notes(labels: Labels, evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """What to know: few queries, queries that a run lacks, and how much of the runs nobody judged even now."""
    few = too_few_queries(len(labels.kept))
    if few:
        yield few
    for run, found in evaluations.items():
        if found.missing:
            yield f"{run} lacks {len(found.missing)} of {found.queries} queries, which count with the worst value"
        if found.judged_share < 1 - MANY_UNJUDGED:
            yield (
                f"{1 - found.judged_share:.0%} of the top 10 of {run} were never judged and count as not relevant: "
                "a run that the pool was not made of is worth more than it seems"
            )
