"""Compare runs with a baseline: means with intervals, differences with tests, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.core import Judgments, ParameterError, Phrase, RankwellError, Run, Shown
from rankwell.core.records import frame
from rankwell.evaluation import significance
from rankwell.evaluation.evaluation import Evaluation, measure_judged
from rankwell.evaluation.given import as_judgments, as_runs
from rankwell.evaluation.joint_bounds import JointBounds, joint_bounds
from rankwell.evaluation.judged import Judged, Pool, Values, join
from rankwell.evaluation.measures import Asked, Measure, parse_measure, parse_measures
from rankwell.evaluation.significance import Interval, PairedDifference, PairedTest, TTest

if TYPE_CHECKING:
    import pandas as pd

SHOWN_RUNS = 4
STUDENT = "t"  # intervals by Student's t
MANY_UNJUDGED = 0.2  # share of the top 10 without judgment above which a warning is given


@dataclass(frozen=True)
class Difference:
    """A run against the baseline by one measure; `corrected_p` takes the other runs into account."""

    run: str
    measure: Measure
    found: PairedDifference
    corrected_p: float


@dataclass(frozen=True)
class Pair:
    """Two runs by one measure, second less first; both p-values are corrected for all pairs of runs."""

    first: str
    second: str
    measure: Measure
    found: PairedDifference
    corrected_p: float
    tukey_p: float | None  # by Tukey's HSD; None where the measure is not defined for every query


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """The result of comparing runs; the first run is the baseline.

    >>> compare(judgments, {"BM25": run, "RM3": other}).difference("RM3", "AP").corrected_p
    """

    judged: Mapping[str, Judged]
    evaluations: Mapping[str, Evaluation]
    differences: tuple[Difference, ...]
    test: PairedTest
    correction: str
    controls: tuple[str, ...] = ()  # runs that the correction does not count
    notes: tuple[str, ...] = ()  # about the data, for the warnings
    how: str = STUDENT  # how intervals are made
    joint: Mapping[tuple[str, Measure], JointBounds] = field(default_factory=dict)  # with unjudged="bounds"

    def __repr__(self) -> str:
        others = [run for run in self.evaluations if run != self.baseline]
        measures = ", ".join(map(str, self.measures))
        return (
            f"Comparison({', '.join(others) or 'nothing'} against {self.baseline}; {measures}; {self.queries} queries)"
        )

    @classmethod
    def from_frame(
        cls,
        table: pd.DataFrame,
        *,
        test: PairedTest | str | None = None,
        correction: str = "holm",
        interval: str = STUDENT,
    ) -> Comparison:
        """Compare runs by values that were measured before, or by another program.

        `table` has a row for each run and query: the columns run, qid (or query_id), and one for each measure. The
        first run is the baseline. What only judgments can tell (unjudged documents, grades) is not known then.

        >>> values = compare(judgments, {"BM25": run, "RM3": other}, "AP").per_query()
        >>> Comparison.from_frame(values).difference("RM3", "AP").corrected_p
        """
        if "run" not in table.columns:
            names = ", ".join(map(str, table.columns))
            raise RankwellError(f"data frame: expected a column run with the runs' names, found {names}")
        rows = {str(name): part.drop(columns="run") for name, part in table.groupby("run", sort=False)}
        evaluations = {name: Evaluation.from_frame(part) for name, part in rows.items()}
        if not evaluations:
            raise RankwellError("data frame: expected values of a baseline and of other runs, found no row")
        (baseline, base), *others = evaluations.items()
        for name, other in others:
            if set(other.qids) != set(base.qids):
                raise RankwellError(
                    f"data frame: expected the same queries for every run, found {len(base.qids)} of {baseline} and "
                    f"{len(other.qids)} of {name}, {len({*base.qids} & {*other.qids})} of them the same"
                )
            places = {qid: place for place, qid in enumerate(other.qids)}
            order = [places[qid] for qid in base.qids]
            values = {measure: other.array(measure)[order] for measure in other.measures}
            evaluations[name] = replace(other, qids=base.qids, values=values)
        return _test_all(cls({}, evaluations, (), _test(test), correction, how=_checked(interval)))

    def per_query(self) -> pd.DataFrame:
        """The value of every run and query: a data frame with the columns run, qid, and one for each measure."""
        parts: dict[str, list[Any]] = {"run": [], "qid": [], **{str(measure): [] for measure in self.measures}}
        for name, evaluation in self.evaluations.items():
            parts["run"] += [name] * evaluation.queries
            parts["qid"] += evaluation.qids
            for measure in self.measures:
                parts[str(measure)] += evaluation.array(measure).tolist()
        return frame(parts)

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

    def difference_among(self, run: str, measure: str | Measure, qids: Iterable[str]) -> PairedDifference:
        """The difference of a run to the baseline over some queries; its p-value is not corrected for anything."""
        wanted, places = parse_measure(measure), self._places
        chosen = [places[qid] for qid in qids]
        values, baseline = (self.evaluations[name].array(wanted)[chosen] for name in (run, self.baseline))
        return _tested([(values, baseline)], wanted, self.test, self.how)[0]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {qid: place for place, qid in enumerate(self.evaluations[self.baseline].qids)}

    def interval(self, run: str, measure: str | Measure) -> Interval | None:
        """The confidence interval of a run's mean; None for a measure that is no mean over queries, or has no value."""
        wanted = parse_measure(measure)
        values = self.evaluations[run].array(wanted)
        values = values[np.isfinite(values)]
        if not wanted.is_mean or not len(values):
            return None
        low, high = significance.confidence_interval(values, level=self.test.level, method=self.how)
        return Interval(max(low, wanted.scale[0]), min(high, wanted.scale[1]))

    def _cut_intervals(self) -> Iterator[str]:
        """The means whose interval by Student's t ends beyond the scale."""
        for measure in (measure for measure in self.measures if measure.is_mean and self.how == STUDENT):
            for run, evaluation in self.evaluations.items():
                values = evaluation.array(measure)[np.isfinite(evaluation.array(measure))]
                if len(values) > 1:
                    low, high = significance.t_interval(values, self.test.level)
                    if low < measure.scale[0] or high > measure.scale[1]:
                        yield f"{measure} of {run}"

    def pairs(self) -> list[Pair]:
        """Each run with each other, by every measure that is a mean; p-values are corrected for all pairs."""
        made = []
        for measure in (measure for measure in self.measures if measure.is_mean):
            names = [name for name in self.evaluations if name not in self.controls]
            table = np.array([self.evaluations[name].array(measure) for name in names])
            whole = len(names) > 1 and table.shape[1] > 1 and bool(np.isfinite(table).all())
            tukey = significance.tukey_hsd(table) if whole else {}
            both = list(combinations(range(len(names)), 2))
            tested = _tested([(table[second], table[first]) for first, second in both], measure, self.test, self.how)
            corrected = significance.correct([one.p for one in tested], self.correction).tolist()
            made += [
                Pair(names[first], names[second], measure, found, p, tukey.get((first, second)))
                for (first, second), found, p in zip(both, tested, corrected, strict=True)
            ]
        return made

    def warnings(self) -> Iterator[str]:
        """Warnings about the comparison, a sentence each."""
        yield from warnings({name: of for name, of in self.evaluations.items() if name not in self.controls})
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
        cut = list(self._cut_intervals())
        if cut:
            several = f" and {len(cut) - SHOWN_RUNS} more" if len(cut) > SHOWN_RUNS else ""
            yield (
                f"Student's interval goes beyond the scale and is cut there: {', '.join(cut[:SHOWN_RUNS])}{several}; "
                "intervals by bca (--interval bca) stay inside by themselves"
            )
        others = max(1, len(self.evaluations) - 1 - len(self.controls))
        few = significance.too_few_queries(self.queries, comparisons=others if self.correction != "none" else 1)
        if few:
            yield few
        yield from self.notes


def compare(
    judgments: Judgments,
    runs: Mapping[str, Run],
    measures: Asked = ("nDCG@10", "RR@10", "AP"),
    *,
    test: PairedTest | str | None = None,
    correction: str = "holm",
    unjudged: str = "zero",
    controls: Sequence[str] = (),
    interval: str = "t",
) -> Comparison:
    """Compare runs with the first of them, query by query.

    The correction for many comparisons covers, for each measure, the runs that are compared with the baseline, except
    those named in `controls`: they are not asked which is better. `test`: t, randomization, bootstrap or wilcoxon, or
    one with settings of yours, such as `TTest(level=0.99)`. `interval`: how intervals are made (t, bca,
    bootstrap); with t a difference has the interval of its test. With unjudged="bounds" each difference gets its
    `joint` bounds.

    >>> print(compare(judgments, {"BM25": run, "RM3": other}, ["nDCG@10", "AP"]))
    """
    judgments, runs = as_judgments(judgments), as_runs(runs)
    if not runs or isinstance(runs, Run):
        found = "none" if not runs else Phrase("one run: name them, {'BM25': run, 'BERT': other}")
        raise ParameterError("runs", expected="a baseline and runs to compare it with", found=found)
    _checked(interval)
    test = _test(test)
    wanted, pool = parse_measures(measures), Pool.of(judgments)
    judged = {name: join(judgments, run, pool, name) for name, run in runs.items()}
    evaluations = {name: measure_judged(of_run, wanted, unjudged) for name, of_run in judged.items()}
    made = Comparison(judged, evaluations, (), test, correction, tuple(controls), (), interval)
    joint: dict[tuple[str, Measure], JointBounds] = {}
    for name in list(runs)[1:] if unjudged == "bounds" else []:
        bounds = {measure: joint_bounds(judgments, runs[name], runs[made.baseline], measure) for measure in wanted}
        joint |= {(name, measure): both for measure, both in bounds.items() if both is not None}
    return replace(_test_all(made), joint=joint)


def _test(given: PairedTest | str | None) -> PairedTest:
    """A test by its name; Student's by default."""
    return significance.paired_test(given) if isinstance(given, str) else given or TTest()


def _checked(interval: str) -> str:
    if interval not in significance.INTERVALS:
        raise ParameterError("interval", expected=" or ".join(significance.INTERVALS), found=interval)
    return interval


def _test_all(made: Comparison) -> Comparison:
    """The comparison with the differences of its evaluations."""
    differences = (difference for measure in made.measures for difference in _differences(made, measure))
    return replace(made, differences=tuple(differences))


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
    yield from _caveats(evaluations)
    open_shares = {name: evaluation.open_share for name, evaluation in evaluations.items()}
    many = {name: f"{share:.0%}" for name, share in open_shares.items() if share > MANY_UNJUDGED}
    if many:
        yield (
            f"so much of the top {first.looked_at} has no judgment that the verdict may turn on it: {_listed(many)}; "
            "see evaluate or compare with --unjudged remove and --unjudged bounds, and collect the missing judgments "
            "with --assess-unjudged FILE"
        )


def _caveats(evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """What must be known of measures, once for all measures and runs that it is true of."""
    said: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for run, evaluation in evaluations.items():
        for measure, sentence in evaluation.caveats.items():
            measures, runs = said.setdefault(sentence, ({}, {}))
            measures[str(measure)] = runs[run] = None
    for sentence, (measures, runs) in said.items():
        more = f" and {len(runs) - SHOWN_RUNS} more" if len(runs) > SHOWN_RUNS else ""
        yield f"{', '.join(measures)} of {', '.join(list(runs)[:SHOWN_RUNS])}{more}: {sentence}"


def _listed(amounts: Mapping[str, object]) -> str:
    """Runs with their amounts as text; of many runs the first few."""
    shown = [f"{name} {amount}" for name, amount in list(amounts.items())[:SHOWN_RUNS]]
    return ", ".join(shown) + (f" and {len(amounts) - SHOWN_RUNS} more" if len(amounts) > SHOWN_RUNS else "")


def _differences(comparison: Comparison, measure: Measure) -> Iterable[Difference]:
    (_, base), *others = comparison.evaluations.items()
    if not measure.is_mean:
        return []
    values = [(other.array(measure), base.array(measure)) for _, other in others]
    found = _tested(values, measure, comparison.test, comparison.how)
    tested = dict(zip((name for name, _ in others), found, strict=True))
    counted = [name for name in tested if name not in comparison.controls]
    corrected = significance.correct([tested[name].p for name in counted], comparison.correction)
    by_run = dict(zip(counted, corrected.tolist(), strict=True))
    return [Difference(name, measure, found, by_run.get(name, found.p)) for name, found in tested.items()]


def _tested(
    pairs: Iterable[tuple[Values, Values]], measure: Measure, test: PairedTest, how: str
) -> list[PairedDifference]:
    """The tests of differences (values and baseline of each), with intervals that end where the scale does."""
    kept = []
    for values, baseline in pairs:
        both = np.isfinite(values) & np.isfinite(baseline)  # AUC has no value where all documents are of one kind
        kept.append((values[both], baseline[both]))
    tested = test.many(kept, higher_is_better=measure.higher_is_better)
    widest = measure.scale[1] - measure.scale[0]
    made = []
    for found, (values, baseline) in zip(tested, kept, strict=True):
        around = found.interval
        if how != STUDENT:
            around = significance.confidence_interval(values - baseline, level=test.level, method=how)
        made.append(replace(found, interval=Interval(max(around.low, -widest), min(around.high, widest))))
    return made
