"""Evaluate runs: values per query, means, and what becomes of unjudged documents."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rankwell.core import Integers, Judgments, ParameterError, Phrase, RankwellError, Run, Shown, atomic_write
from rankwell.core.records import SPELLINGS, column, frame
from rankwell.evaluation.given import as_judgments, as_runs
from rankwell.evaluation.judged import Judged, Pool, Values, check_depth, join
from rankwell.evaluation.measures import Asked, Effect, Measure, parse_measure, parse_measures

if TYPE_CHECKING:
    import pandas as pd

# By name: the list that measures see. "zero": unjudged documents keep their places and count as not relevant, also for
# the value beside "bounds". "remove": they leave the list, and those below move up (Sakai, "Alternatives to Bpref",
# SIGIR 2007).
POLICIES: Mapping[str, Callable[[Judged], Judged]] = MappingProxyType(
    {"zero": lambda judged: judged, "remove": lambda judged: judged.condensed, "bounds": lambda judged: judged}
)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The worst and the best value of every query that judging the list's unjudged documents could lead to."""

    worst: Values
    best: Values
    worst_mean: float
    best_mean: float


def bounds(measure: Measure, judged: Judged) -> Bounds:
    """Bounds of the measure over all possible grades of the unjudged documents that it uses.

    Open are the unjudged documents of the list down to the measure's cut-off. Each may
    have any grade up to the highest in the judgments. Documents further down or not
    returned stay as they are.

    - A measure that relevant documents in the list can only improve (P, R, RR, DCG, ...): the worst case is that all
      open documents are not relevant, the best that all have the top grade. Both can happen.
    - A measure over an ideal (AP, nDCG, IPrec, and RBP over the top grade) may also fall when a low document turns out
      relevant, because the ideal grows. The worst case takes the list as it is over the ideal with every open document
      in it, the best case the list at its best over the ideal as it is, at most 1. No judging can lead outside; the
      ends may not be reached.
    """
    worst, best = _ends(measure, judged)
    return Bounds(worst, best, measure.aggregate(worst, judged), measure.aggregate(best, judged))


def _ends(measure: Measure, judged: Judged) -> tuple[Values, Values]:
    """Worst and best values of every query."""
    if not measure.has_bounds:
        expected = "a measure that counts unjudged documents as not relevant"
        raise ParameterError("unjudged='bounds'", expected=expected, found=Phrase(measure))
    if measure.effect is Effect.NONE or measure.judged_only:
        return measure(judged), measure(judged)
    least = getattr(measure, "rel", None) or 1
    possible = if_all_had(judged, measure.depth, max(least, int(judged.pool.grade.max(initial=1))))
    if measure.effect is Effect.RAISES:
        return measure(judged), measure(possible)
    worst = measure(replace(judged, pool=possible.pool))
    best = np.minimum(measure(replace(possible, pool=judged.pool)), 1)
    # Without a known relevant document there is no ideal yet: one open document may be all there is to find.
    no_ideal = (best == 0) & (judged.pool.relevant(least) == 0) & (judged.unjudged(measure.depth) > 0)
    return worst, np.where(no_ideal, 1.0, best)


def if_all_had(judged: Judged, depth: int | None, grade: int) -> Judged:
    """The list as if every unjudged document down to this rank had been judged to have this grade."""
    query, rank = _open(judged, depth)
    grades = np.full(len(query), grade, dtype=np.int64)
    all_query, all_rank = np.concatenate((judged.query, query)), np.concatenate((judged.rank, rank))
    order = np.lexsort((all_rank, all_query))
    return replace(
        judged,
        pool=judged.pool.enlarged(query, grades),
        query=all_query[order],
        rank=all_rank[order],
        grade=np.concatenate((judged.grade, grades))[order],
        score=np.concatenate((judged.score, np.full(len(query), np.nan, dtype=np.float32)))[order],
    )


def _open(judged: Judged, depth: int | None) -> tuple[Integers, Integers]:
    """Query and rank of the unjudged documents down to this rank."""
    sizes = judged.returned(depth).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    query = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    rank = np.arange(1, len(query) + 1) - starts[query]
    unjudged = np.ones(len(query), dtype=bool)
    seen = judged.within(depth)
    unjudged[starts[judged.query[seen]] + judged.rank[seen] - 1] = False
    return query[unjudged], rank[unjudged]


def unjudged_documents(judgments: Judgments, runs: Iterable[Run], depth: int = 10) -> dict[str, tuple[str, ...]]:
    """For every judged query, the documents in the top `depth` of any run that have no judgment yet.

    The order is that of the best rank in any run, so that the most useful judgments come first.

    >>> unjudged_documents(judgments, [run, other], depth=10)
    """
    check_depth(depth)
    best: dict[str, dict[str, int]] = {}
    for run in runs:
        for qid, ranking in run.top(depth).rankings():
            if qid in judgments:
                ranks = best.setdefault(qid, {})
                for rank, docno in enumerate(ranking.docnos.tolist(), 1):
                    if docno not in judgments[qid]:
                        ranks[docno] = min(rank, ranks.get(docno, rank))
    unjudged = {qid: tuple(sorted(ranks, key=lambda docno: (ranks[docno], docno))) for qid, ranks in best.items()}
    return {qid: docnos for qid, docnos in unjudged.items() if docnos}


def write_study(
    path: Path,
    pool: Mapping[str, Sequence[str]],
    *,
    qrels: Path,
    runs: Sequence[Path],
    depth: int,
    queries: Path | None = None,
    collection: str | None = None,
) -> None:
    """Write the documents to judge as a study file for `rankwell assess create`.

    It names the judgments and runs of the documents, the queries and texts (as far as known), and lists
    the documents of every query. Paths are relative to the study file's folder.
    """
    sources = {"queries": queries, "collection": collection}
    lines = [
        "# Documents that nobody has judged yet, for assessors.",
        f"depth = {depth}",
        f"qrels = {_quoted(qrels, path)}",
        f"runs = [{', '.join(_quoted(run, path) for run in runs)}]",
        *(f"{name} = {_quoted(source, path)}" for name, source in sources.items() if source is not None),
        "",
        "[pool]",
        *(f"{json.dumps(qid)} = {json.dumps(list(docnos))}" for qid, docnos in pool.items()),
    ]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _quoted(source: Path | str, study: Path) -> str:
    """A source as a TOML string: relative to the study's folder; names (irds:ID) and absolute paths as they are."""
    named = Path(source)
    from_there = named.exists() and not named.is_absolute()
    return json.dumps(os.path.relpath(named, study.parent) if from_there else str(source))


SHOWN = 10
USUAL = ("nDCG@10", "RR@10", "AP")


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown):
    """The result of evaluating a run: a value for every measure and query, and the number of unjudged documents.

    Queries are those of the judgments, in their order; one that the run lacks counts with the measure's worst value.

    >>> evaluate(judgments, run, ["nDCG@10", "AP"]).per_query("AP")
    """

    qids: tuple[str, ...]
    values: Mapping[Measure, Values]
    means: Mapping[Measure, float]
    unjudged: str  # treatment of unjudged documents: zero, remove or bounds
    missing: tuple[str, ...]  # queries with judgments that the run lacks: counted as 0
    unknown: tuple[str, ...]  # queries of the run without judgments: left out
    returned_on_top: int  # documents in the top 10, over all queries
    unjudged_on_top: int  # those of them without a judgment
    looked_at: int = SHOWN  # ranks that the measures look at, at most 10
    open_share: float = 0.0  # the share of documents without judgment at these ranks
    without_relevant: int = 0  # queries without a known relevant document
    bounds: Mapping[Measure, Bounds] = field(default_factory=dict)  # with unjudged="bounds" only
    caveats: Mapping[Measure, str] = field(default_factory=dict)  # what must be known of a value

    def __repr__(self) -> str:
        means = ", ".join(f"{measure} {self.means[measure]:.4f}" for measure in self.measures)
        return f"Evaluation({means}; {self.queries} queries)"

    def to_frame(self) -> pd.DataFrame:
        """A data frame with a row for each query: the column qid, and one for each measure."""
        return frame({"qid": list(self.qids), **{str(measure): self.array(measure) for measure in self.measures}})

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> Evaluation:
        """Create from values by query, also of other programs: the column qid (or query_id), and one for each measure.

        What only judgments can tell (unjudged documents, missing queries) is not known then.

        >>> Evaluation.from_frame(evaluate(judgments, run, ["nDCG@10", "AP"]).to_frame()).mean("AP")
        """
        qids = tuple(column(table, "qid").astype(str).tolist())
        if len(set(qids)) < len(qids):
            twice = Counter(qids).most_common(1)[0][0]
            raise RankwellError(f"data frame: expected each query once, found {twice!r} again")
        names = [name for name in table.columns if name not in SPELLINGS["qid"]]
        values = {parse_measure(str(name)): _numbers(table, name) for name in names}
        pooled = next((measure for measure in values if not measure.is_mean), None)
        if pooled is not None:
            raise RankwellError(f"data frame: expected measures that are means over queries, found {pooled}")
        means = {of: float(np.nanmean(each)) if np.isfinite(each).any() else np.nan for of, each in values.items()}
        return cls(qids, values, means, "zero", (), (), 0, 0)

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
        bounds = self.bounds.get(self._asked(measure))
        if bounds is None:
            raise ParameterError("unjudged", expected="'bounds' for worst and best cases", found=self.unjudged)
        return bounds.worst_mean, bounds.best_mean

    def _asked(self, measure: str | Measure) -> Measure:
        wanted = parse_measure(measure)
        if wanted not in self.values:
            raise ParameterError("measure", expected=" or ".join(map(str, self.values)), found=str(measure))
        return wanted


def _numbers(table: pd.DataFrame, name: Any) -> Values:
    try:
        return np.asarray(table[name], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RankwellError(f"data frame: expected numbers in the column {name}, found {error}") from error


class Evaluations(Shown, dict[str, Evaluation]):
    """The evaluations of several runs, by name."""

    def __repr__(self) -> str:
        return f"Evaluations({', '.join(self)})"


@overload
def evaluate(judgments: Judgments, run: Run, measures: Asked = USUAL, *, unjudged: str = "zero") -> Evaluation: ...
@overload
def evaluate(
    judgments: Judgments, run: Mapping[str, Run], measures: Asked = USUAL, *, unjudged: str = "zero"
) -> Evaluations: ...
def evaluate(
    judgments: Judgments, run: Run | Mapping[str, Run], measures: Asked = USUAL, *, unjudged: str = "zero"
) -> Evaluation | Evaluations:
    """Evaluate a run, or several by name. `unjudged`: treatment of unjudged documents (zero, remove, bounds).

    >>> print(evaluate(judgments, run, ["nDCG@10", "RR@10"]))
    """
    judgments, run = as_judgments(judgments), as_runs(run)
    if unjudged not in POLICIES:
        raise ParameterError("unjudged", expected=" or ".join(POLICIES), found=unjudged)
    wanted, pool = parse_measures(measures), Pool.of(judgments)
    if isinstance(run, Run):
        return measure_judged(join(judgments, run, pool), wanted, unjudged)
    named = {name: measure_judged(join(judgments, one, pool, name), wanted, unjudged) for name, one in run.items()}
    return Evaluations(named)


def measure_judged(judged: Judged, measures: tuple[Measure, ...], unjudged: str = "zero") -> Evaluation:
    """Evaluate a run that is already joined with its judgments."""
    seen = POLICIES[unjudged](judged)
    if unjudged == "bounds" and not any(measure.has_bounds for measure in measures):
        bounds(measures[0], judged)  # says why it has none
    looked_at = min(SHOWN, max(measure.depth or SHOWN for measure in measures))
    returned = int(np.sum(judged.returned(looked_at)))
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
        looked_at=looked_at,
        open_share=int(np.sum(judged.unjudged(looked_at))) / returned if returned else 0.0,
        without_relevant=int(np.sum(judged.pool.relevant() == 0)),
        bounds={one: bounds(one, judged) for one in measures if unjudged == "bounds" and one.has_bounds},
        caveats={one: said for one in measures if (said := one.caveat(judged))},
    )
