"""Comparing runs with a baseline: means with intervals, differences with tests, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation.evaluation import Evaluation, measure_judged
from rankwell.evaluation.judged import Judged, Pool, join
from rankwell.evaluation.measures import Measure
from rankwell.evaluation.names import Asked, parse_measure, parse_measures
from rankwell.evaluation.significance import (
    Interval,
    PairedDifference,
    PairedTest,
    TTest,
    confidence_interval,
    correct,
    too_few_queries,
)

SHOWN_RUNS = 4
MANY_UNJUDGED = 0.2  # share of the top 10 without judgment above which a warning is given


@dataclass(frozen=True)
class Difference:
    """A run against the baseline by one measure; `corrected_p` takes the other runs into account."""

    run: str
    measure: Measure
    found: PairedDifference
    corrected_p: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of comparing runs; the first run is the baseline."""

    judged: Mapping[str, Judged]
    evaluations: Mapping[str, Evaluation]
    differences: tuple[Difference, ...]
    test: PairedTest
    correction: str

    @property
    def baseline(self) -> str:
        """The run that the others are compared with."""
        return next(iter(self.evaluations))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the comparison."""
        return self.evaluations[self.baseline].measures

    @property
    def queries(self) -> int:
        """The number of queries that every mean is over."""
        return self.evaluations[self.baseline].queries

    @cached_property
    def _by_place(self) -> dict[tuple[str, Measure], Difference]:
        return {(difference.run, difference.measure): difference for difference in self.differences}

    def difference(self, run: str, measure: str | Measure) -> Difference | None:
        """The difference of a run to the baseline; None for the baseline itself, and where the measure is no mean."""
        return self._by_place.get((run, parse_measure(measure)))

    def interval(self, run: str, measure: str | Measure) -> Interval | None:
        """The confidence interval of a run's mean; None for a measure that is no mean over queries."""
        wanted = parse_measure(measure)
        if not wanted.is_mean:
            return None
        values = self.evaluations[run].array(wanted)
        return confidence_interval(values[np.isfinite(values)], level=self.test.level)

    def warnings(self) -> Iterator[str]:
        """Warnings about the comparison, a sentence each."""
        yield from warnings(self.evaluations)
        pooled = [str(measure) for measure in self.measures if not measure.is_mean]
        if pooled:
            yield f"one number for all queries together has no interval and no test: {', '.join(pooled)}"
        for measure in self.measures:
            compared = [found.found.queries for found in self.differences if found.measure == measure]
            if compared and min(compared) < self.queries:
                yield (
                    f"{measure} is not defined for every query: runs are compared on the queries where both have it, "
                    f"{min(compared)} of {self.queries}" + (" or more" if max(compared) > min(compared) else "")
                )
        others = max(1, len(self.evaluations) - 1)
        few = too_few_queries(self.queries, comparisons=others if self.correction != "none" else 1)
        if few:
            yield few


def compare(
    judgments: Judgments,
    runs: Mapping[str, Run],
    measures: Asked = ("nDCG@10", "RR@10", "AP"),
    *,
    test: PairedTest | None = None,
    correction: str = "holm",
    unjudged: str = "zero",
) -> Comparison:
    """Compare runs with the first of them, query by query.

    The correction for many comparisons covers, for each measure, the runs that are compared with the baseline.
    """
    if not runs:
        raise ParameterError("runs", expected="a baseline and runs to compare it with", found="none")
    test = test or TTest()
    wanted, pool = parse_measures(measures), Pool.of(judgments)
    judged = {name: join(judgments, run, pool, name) for name, run in runs.items()}
    evaluations = {name: measure_judged(of_run, wanted, unjudged) for name, of_run in judged.items()}
    differences = tuple(
        difference for measure in wanted for difference in _differences(evaluations, measure, test, correction)
    )
    return Comparison(judged, evaluations, differences, test, correction)


def warnings(evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """Warnings about runs: missing or unknown queries, and unjudged documents."""
    lacking = {name: len(found.missing) for name, found in evaluations.items() if found.missing}
    if lacking:
        yield f"judged queries that a run lacks count as 0: {_listed(lacking)}"
    unknown = {name: len(found.unknown) for name, found in evaluations.items() if found.unknown}
    if unknown:
        yield f"queries without judgments are left out: {_listed(unknown)}"
    barren = max((found.without_relevant for found in evaluations.values()), default=0)
    if barren:
        total = max(found.queries for found in evaluations.values())
        yield f"queries without a relevant document, for which every run gets the worst value: {barren} of {total}"
    open_shares = {name: 1 - found.judged_share for name, found in evaluations.items()}
    many = {name: f"{share:.0%}" for name, share in open_shares.items() if share > MANY_UNJUDGED}
    if many:
        yield (
            f"so much of the top 10 has no judgment that the verdict may turn on it: {_listed(many)}; "
            "see evaluate or compare with --unjudged remove and --unjudged bounds, and collect the missing judgments "
            "with --assess-unjudged FILE"
        )


def _listed(amounts: Mapping[str, object]) -> str:
    """Runs with their amounts as text; of many runs the first few."""
    shown = [f"{name} {amount}" for name, amount in list(amounts.items())[:SHOWN_RUNS]]
    return ", ".join(shown) + (f" and {len(amounts) - SHOWN_RUNS} more" if len(amounts) > SHOWN_RUNS else "")


def _differences(
    evaluations: Mapping[str, Evaluation], measure: Measure, test: PairedTest, correction: str
) -> Iterable[Difference]:
    (_, base), *others = evaluations.items()
    if not measure.is_mean:
        return []
    found = []
    for name, other in others:
        values, of_base = other.array(measure), base.array(measure)
        both = np.isfinite(values) & np.isfinite(of_base)  # AUC has no value where all documents are of one kind
        difference = test(values[both], of_base[both], higher_is_better=measure.higher_is_better)
        found.append(Difference(name, measure, difference, difference.p))
    corrected = correct([difference.found.p for difference in found], correction)
    return [replace(difference, corrected_p=float(p)) for difference, p in zip(found, corrected, strict=True)]
