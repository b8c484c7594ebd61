"""Compare runs with a baseline: means with intervals, differences with tests, warnings; and sweeps over one number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankwell.core import Judgments, ParameterError, Phrase, RankwellError, Run
from rankwell.evaluation import significance
from rankwell.evaluation.evaluation import Evaluation, measure_judged
from rankwell.evaluation.judged import Judged, Pool, check_depth, join
from rankwell.evaluation.measures import Asked, Measure, parse_measure, parse_measures
from rankwell.evaluation.significance import Interval, PairedDifference, PairedTest, TTest

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
        """The confidence interval of a run's mean; None for a measure that is no mean over queries, or has no value."""
        wanted = parse_measure(measure)
        values = self.evaluations[run].array(wanted)
        values = values[np.isfinite(values)]
        if not wanted.is_mean or not len(values):
            return None
        low, high = significance.confidence_interval(values, level=self.test.level)
        return Interval(max(low, wanted.scale[0]), min(high, wanted.scale[1]))

    def warnings(self) -> Iterator[str]:
        """Warnings about the comparison, a sentence each."""
        yield from warnings(self.evaluations)
        pooled = [str(measure) for measure in self.measures if not measure.is_mean]
        if pooled:
            yield f"one number for all queries together has no interval and no test: {', '.join(pooled)}"
        for measure in self.measures:
            compared = [difference.found.queries for difference in self.differences if difference.measure == measure]
            if compared and min(compared) < self.queries:
                yield (
                    f"{measure} is not defined for every query: runs are compared on the queries where both have it, "
                    f"{min(compared)} of {self.queries}" + (" or more" if max(compared) > min(compared) else "")
                )
        others = max(1, len(self.evaluations) - 1)
        few = significance.too_few_queries(self.queries, comparisons=others if self.correction != "none" else 1)
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
    if not evaluations:
        return
    first = next(iter(evaluations.values()))
    lacking = {name: len(evaluation.missing) for name, evaluation in evaluations.items() if evaluation.missing}
    if lacking:
        yield f"judged queries that a run lacks count as 0: {_listed(lacking)}"
    unknown = {name: len(evaluation.unknown) for name, evaluation in evaluations.items() if evaluation.unknown}
    if unknown:
        yield f"queries without judgments are left out: {_listed(unknown)}"
    barren = max(evaluation.without_relevant for evaluation in evaluations.values())
    if barren:
        total = max(evaluation.queries for evaluation in evaluations.values())
        yield f"queries without a relevant document, for which every run gets the worst value: {barren} of {total}"
    unbounded = [str(one) for one in first.measures if one not in first.bounds] if first.bounds else []
    if unbounded:
        yield f"there are no bounds for measures that treat unjudged documents themselves: {', '.join(unbounded)}"
    open_shares = {name: evaluation.open_share for name, evaluation in evaluations.items()}
    many = {name: f"{share:.0%}" for name, share in open_shares.items() if share > MANY_UNJUDGED}
    if many:
        yield (
            f"so much of the top {first.looked_at} has no judgment that the verdict may turn on it: {_listed(many)}; "
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
    differences = []
    for name, other in others:
        values, of_base = other.array(measure), base.array(measure)
        both = np.isfinite(values) & np.isfinite(of_base)  # AUC has no value where all documents are of one kind
        difference = test(values[both], of_base[both], higher_is_better=measure.higher_is_better)
        widest = measure.scale[1] - measure.scale[0]
        low, high = difference.interval
        difference = replace(difference, interval=Interval(max(low, -widest), min(high, widest)))
        differences.append(Difference(name, measure, difference, difference.p))
    corrected = significance.correct([difference.found.p for difference in differences], correction)
    return [replace(difference, corrected_p=float(p)) for difference, p in zip(differences, corrected, strict=True)]


BASELINE = "baseline"


@dataclass(frozen=True, eq=False)
class Sweep:
    """A comparison of runs that belong to numbers, such as re-ranking depths."""

    name: str  # of the numbers: depth, k1, layers
    comparison: Comparison
    points: Mapping[float, str]  # number -> run
    note: str | None = None  # about the points

    def warnings(self) -> Iterator[str]:
        """Warnings about the comparison and its points, a sentence each."""
        yield from self.comparison.warnings()
        if self.note:
            yield self.note

    def mean(self, point: float, measure: str | Measure) -> float:
        """The mean of a measure at a point."""
        return self.comparison.evaluations[self.points[point]].mean(measure)

    def difference(self, point: float, measure: str | Measure) -> PairedDifference:
        """The difference to the baseline at a point."""
        difference = self.comparison.difference(self.points[point], measure)
        assert difference is not None  # noqa: S101 -- a point is never the baseline
        return difference.found


def sweep(
    judgments: Judgments,
    baseline: Run,
    runs: Mapping[float, Run],
    measures: Asked,
    *,
    name: str = "value",
    test: PairedTest | None = None,
    unjudged: str = "zero",
) -> Sweep:
    """Compare a run at each number with the baseline. Points of one curve are not corrected for their number."""
    if not runs:
        raise ParameterError("runs", expected="a run at one number or more", found="none")
    wanted = parse_measures(measures)
    for measure in wanted:
        if not measure.is_mean:
            raise ParameterError("measure", expected="a mean over queries, so that it has a band", found=str(measure))
    labels = {point: f"{name}={point:g}" for point in sorted(runs)}
    named = {BASELINE: baseline, **{label: runs[point] for point, label in labels.items()}}
    return Sweep(name, compare(judgments, named, wanted, test=test, correction="none", unjudged=unjudged), labels)


def depth_sweep(
    judgments: Judgments,
    first: Run,
    reranked: Run,
    depths: Sequence[int],
    measures: Asked,
    *,
    test: PairedTest | None = None,
) -> Sweep:
    """Sweep over re-ranking depths, computed from one run that re-ranked the deepest.

    No pair is scored twice: a document's score does not depend on the depth.
    """
    runs = {float(depth): reranked_to(first, reranked, depth) for depth in depths}
    swept = sweep(judgments, first, runs, measures, name="depth", test=test)
    longest = int(np.diff(first.offsets).max(initial=0))
    if max(depths) <= longest:
        return swept
    return replace(swept, note=f"the first run has at most {longest} documents a query: deeper than that is the same")


def reranked_to(first: Run, reranked: Run, depth: int) -> Run:
    """The first run with its top `depth` documents in the order of the re-ranked run; the others stay below them."""
    check_depth(depth)
    scores = np.empty(len(first), dtype=np.float32)
    place = 0
    for qid, ranking in first.rankings():
        head = ranking.docnos[:depth].tolist()
        by_docno = dict(reranked[qid]) if qid in reranked else {}
        missing = [docno for docno in head if docno not in by_docno]
        if missing and qid in reranked:
            raise RankwellError(
                f"depth {depth}: expected the top {depth} of query {qid!r} in the re-ranked run, "
                f"found no score for {missing[0]!r} ({len(missing)} missing)"
            )
        ordered = head if missing else sorted(head, key=lambda docno: (by_docno[docno], docno), reverse=True)
        places = {docno: rank for rank, docno in enumerate(ordered)}
        # Ranks as scores: exact in 32 bits, and the documents below the cut follow in their old order.
        below = np.arange(len(head), len(ranking))
        scores[place : place + len(ranking)] = -np.concatenate(([places[docno] for docno in head], below))
        place += len(ranking)
    return first.with_scores(scores)


def parse_depths(text: str) -> list[int]:
    """`10:100:10` or `10,20,50` as numbers."""
    parts = text.split(":") if ":" in text else text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts) or (
        ":" in text and len(parts) != len(("first", "last", "step"))
    ):
        raise ParameterError(
            "--depths", expected="FIRST:LAST:STEP such as 10:100:10, or a list such as 10,20,50", found=text
        )
    numbers = [int(part) for part in parts]
    if ":" in text and numbers[0] > numbers[1]:
        raise ParameterError("--depths", expected="a first depth that is not above the last", found=text)
    return list(range(numbers[0], numbers[1] + 1, numbers[2])) if ":" in text else sorted(set(numbers))


def parse_points(texts: Sequence[str]) -> dict[float, str]:
    """`2=l2.trec 4=l4.trec` as run files by number; nothing for one re-ranked run without a number."""
    if len(texts) == 1 and "=" not in texts[0]:
        return {}
    points: dict[float, str] = {}
    for text in texts:
        number, equals, run = text.partition("=")
        try:
            point = float(number)
        except ValueError:
            equals = ""
        if not equals or not run or not math.isfinite(point):
            raise ParameterError("runs", expected="one re-ranked run, or NUMBER=RUN for each point", found=text)
        if point in points:
            raise ParameterError("runs", expected="one run at each number", found=Phrase(f"two at {point:g}"))
        points[point] = run
    return points
