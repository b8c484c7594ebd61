"""Evaluate runs: values per query, means, and the number of unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation.judged import Judged, Pool, Values, join
from rankwell.evaluation.measures import Effect, Measure
from rankwell.evaluation.names import Asked, parse_measure, parse_measures
from rankwell.evaluation.unjudged import POLICIES, Bounds, bounds

SHOWN = 10


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of evaluating a run: a value for every measure and query, and the number of unjudged documents.

    Queries are those of the judgments, in their order; one that the run lacks counts with the measure's worst value.
    """

    qids: tuple[str, ...]
    values: Mapping[Measure, Values]
    means: Mapping[Measure, float]
    unjudged: str  # treatment of unjudged documents: zero, remove or bounds
    missing: tuple[str, ...]  # queries with judgments that the run lacks: counted as 0
    unknown: tuple[str, ...]  # queries of the run without judgments: left out
    returned_on_top: int  # documents in the top 10, over all queries
    unjudged_on_top: int  # those of them without a judgment
    without_relevant: int = 0  # queries without a known relevant document
    bounds: Mapping[Measure, Bounds] = field(default_factory=dict)  # with unjudged="bounds" only

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures in the order of the request."""
        return tuple(self.values)

    @property
    def queries(self) -> int:
        """The number of queries the means are over."""
        return len(self.qids)

    @property
    def judged_share(self) -> float:
        """The judged share of the top 10, over all queries (1 where the run returned nothing)."""
        return 1 - self.unjudged_on_top / self.returned_on_top if self.returned_on_top else 1.0

    def mean(self, measure: str | Measure) -> float:
        """The run's value: the mean over all queries, or the sum for counts."""
        return self.means[self._asked(measure)]

    def array(self, measure: str | Measure) -> Values:
        """The value of every query, in the order of `qids`."""
        return self.values[self._asked(measure)]

    def per_query(self, measure: str | Measure) -> dict[str, float]:
        """The value of every query, by its id."""
        return dict(zip(self.qids, self.array(measure).tolist(), strict=True))

    def mean_bounds(self, measure: str | Measure) -> tuple[float, float]:
        """The worst and best mean that judging the unjudged documents could lead to (with unjudged="bounds")."""
        found = self.bounds.get(self._asked(measure))
        if found is None:
            raise ParameterError("unjudged", expected="'bounds' for worst and best cases", found=self.unjudged)
        return found.worst_mean, found.best_mean

    def _asked(self, measure: str | Measure) -> Measure:
        wanted = parse_measure(measure)
        if wanted not in self.values:
            raise ParameterError("measure", expected=" or ".join(map(str, self.values)), found=str(measure))
        return wanted


@overload
def evaluate(judgments: Judgments, run: Run, measures: Asked, *, unjudged: str = "zero") -> Evaluation: ...
@overload
def evaluate(
    judgments: Judgments, run: Mapping[str, Run], measures: Asked, *, unjudged: str = "zero"
) -> dict[str, Evaluation]: ...
def evaluate(
    judgments: Judgments, run: Run | Mapping[str, Run], measures: Asked, *, unjudged: str = "zero"
) -> Evaluation | dict[str, Evaluation]:
    """Evaluate a run, or several by name. `unjudged`: treatment of unjudged documents (zero, remove, bounds)."""
    if unjudged not in POLICIES:
        raise ParameterError("unjudged", expected=" or ".join(POLICIES), found=unjudged)
    wanted, pool = parse_measures(measures), Pool.of(judgments)
    if isinstance(run, Run):
        return measure_judged(join(judgments, run, pool), wanted, unjudged)
    return {name: measure_judged(join(judgments, one, pool, name), wanted, unjudged) for name, one in run.items()}


def measure_judged(judged: Judged, measures: tuple[Measure, ...], unjudged: str = "zero") -> Evaluation:
    """Evaluate a run that is already joined with its judgments."""
    seen = POLICIES[unjudged](judged)
    lists = {measure: judged if measure.effect is Effect.NONE else seen for measure in measures}
    values = {measure: measure(lists[measure]) for measure in measures}
    return Evaluation(
        qids=judged.qids,
        values=values,
        means={measure: measure.aggregate(values[measure], lists[measure]) for measure in measures},
        unjudged=unjudged,
        missing=judged.missing,
        unknown=judged.unknown,
        returned_on_top=int(np.sum(judged.returned(SHOWN))),
        unjudged_on_top=int(np.sum(judged.unjudged(SHOWN))),
        without_relevant=int(np.sum(judged.pool.relevant() == 0)),
        bounds={measure: bounds(measure, judged) for measure in measures} if unjudged == "bounds" else {},
    )
