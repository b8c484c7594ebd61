"""Bounds of the difference between two runs over all grades of unjudged documents, and the judgments that turn it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from rankwell.core import Integers, Judgments, Run
from rankwell.evaluation.evaluation import if_all_had
from rankwell.evaluation.judged import Judged, Values, join
from rankwell.evaluation.measures import Effect, Measure
from rankwell.evaluation.measures.gain import DCG, FORMS, NDCG
from rankwell.evaluation.measures.precision import P, R
from rankwell.evaluation.measures.ranks import MFR, RR, Success

MOST_COUNTS = 20_000  # ways to give grades to a query's open documents that are tried
SAME, DIGITS = 1e-12, 12

Path = list[tuple[str, float]]  # documents to judge relevant, each with the query's difference after it


class Extremes(NamedTuple):
    """The lowest and highest difference of one query, and the documents that lead towards each."""

    low: float
    high: float
    down: Path
    up: Path


class Turning(NamedTuple):
    """A judgment that helps to turn the verdict, and by how much it changes the sum of the differences."""

    qid: str
    docno: str
    change: float


@dataclass(frozen=True, eq=False)
class JointBounds:
    """Between which values the difference of two runs lies, whatever the unjudged documents are.

    A document that both runs return gets one grade, so these bounds are narrower than the difference of two runs' own
    bounds. `turning` is a small set of judgments that would give the mean difference the other sign, the most effective
    first; empty where no judging can. `exact`: both ends can happen.
    """

    difference: float  # with unjudged documents as not relevant
    low: Values
    high: Values
    exact: bool
    turning: tuple[Turning, ...]

    @property
    def mean_low(self) -> float:
        """The lowest mean difference."""
        return float(self.low.mean())

    @property
    def mean_high(self) -> float:
        """The highest mean difference."""
        return float(self.high.mean())


@dataclass(frozen=True, eq=False)
class OpenQuery:
    """One query: the ranks of its unjudged documents in both runs (infinite where one lacks it), and what is known."""

    docnos: Sequence[str]
    first: Values
    second: Values
    difference: float
    known: Values  # grades of the judged documents
    hits: tuple[tuple[Values, Values], tuple[Values, Values]]  # of each run: ranks and grades of its judged documents
    top: int  # the highest grade a document may have

    def weights(self, worth: Callable[[Values], Values]) -> Values:
        """What each document adds to the first run less what it adds to the second."""
        return worth(self.first) - worth(self.second)


def joint_bounds(judgments: Judgments, system: Run, baseline: Run, measure: Measure) -> JointBounds | None:
    """Bounds of system minus baseline; None for a measure without bounds, or that is no mean over queries.

    Exact for P, R, RR, MFR, Success and DCG, and for nDCG where the grades of a query's open documents can be given in
    at most 20,000 ways (about 45 documents with grades up to 3). For other measures the ends hold and may not be
    reached: each run is taken at its best or worst by itself; there `turning` is empty.
    """
    if not measure.has_bounds or not measure.is_mean or measure.judged_only or measure.effect is Effect.NONE:
        return None
    both = join(judgments, system), join(judgments, baseline)
    values = measure(both[0]) - measure(both[1])
    top = max(getattr(measure, "rel", None) or 1, int(both[0].pool.grade.max(initial=1)))
    find = FINDERS.get(type(measure), _no_extremes)
    pair = _Pair(judgments, (system, baseline), both, measure.depth, top)
    queries = {qid: pair.query(place, qid, float(values[place])) for place, qid in enumerate(judgments)}
    extremes = {qid: find(measure, query) for qid, query in queries.items()}
    low = np.array([math.nan if of is None else of.low for of in extremes.values()])
    high = np.array([math.nan if of is None else of.high for of in extremes.values()])
    outside = np.isnan(low)
    if outside.any():
        counts = np.array([len(query.docnos) for query in queries.values()])
        (worst, best), (their_worst, their_best) = (_own_ends(measure, one, counts, top) for one in both)
        low, high = np.where(outside, worst - their_best, low), np.where(outside, best - their_worst, high)
    return JointBounds(float(values.mean()), low, high, not outside.any(), tuple(_turning(extremes, values)))


def _own_ends(measure: Measure, judged: Judged, counts: Integers, top: int) -> tuple[Values, Values]:
    """Worst and best values of one run, whatever the open documents of both runs are (`counts` for each query).

    Those of the other run alone are relevant documents that this one lacks: the ideal has all of them at worst, and
    none of the open ones at best.
    """
    query = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    worst = measure(replace(judged, pool=judged.pool.enlarged(query, np.full(len(query), top, dtype=np.int64))))
    possible = if_all_had(judged, measure.depth, top)
    best = np.minimum(measure(replace(possible, pool=judged.pool)), measure.scale[1])
    unknown = (judged.pool.relevant(getattr(measure, "rel", None) or 1) == 0) & (counts > 0)
    return worst, np.where(unknown, measure.scale[1], best)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two runs and what is known of their documents."""

    judgments: Judgments
    runs: tuple[Run, Run]
    judged: tuple[Judged, Judged]
    depth: int | None
    top: int

    def query(self, place: int, qid: str, difference: float) -> OpenQuery:
        """The open documents of a query."""
        known = self.judgments[qid]
        ranks: list[dict[str, int]] = []
        hits: list[tuple[Values, Values]] = []
        for run, judged in zip(self.runs, self.judged, strict=True):
            listed = run[qid].docnos[: self.depth].tolist() if qid in run else []
            ranks.append({docno: rank for rank, docno in enumerate(listed, 1) if docno not in known})
            of_query = slice(*np.searchsorted(judged.query, [place, place + 1]).tolist())
            seen = judged.rank[of_query] <= (self.depth or math.inf)
            hits.append((judged.rank[of_query][seen].astype(float), judged.grade[of_query][seen].astype(float)))
        docnos = list(dict.fromkeys([*ranks[0], *ranks[1]]))
        first, second = (np.array([of.get(docno, math.inf) for docno in docnos], dtype=float) for of in ranks)
        grades = np.array(list(known.values()), dtype=float)
        return OpenQuery(docnos, first, second, difference, grades, (hits[0], hits[1]), self.top)


def _no_extremes(_measure: Measure, _query: OpenQuery) -> None:
    return None


def _linear(query: OpenQuery, weights: Values) -> Extremes:
    """Each relevant document adds its weight, whatever the others are."""
    down, up = ([(at, weights[at]) for at in np.argsort(sign * weights, kind="stable")] for sign in (1, -1))
    fallen = _summed(query, [(at, weight) for at, weight in down if weight < 0])
    risen = _summed(query, [(at, weight) for at, weight in up if weight > 0])
    low, high = (path[-1][1] if path else query.difference for path in (fallen, risen))
    return Extremes(low, high, fallen, risen)


def _summed(query: OpenQuery, steps: list[tuple[int, float]]) -> Path:
    total, path = query.difference, []
    for at, weight in steps:
        total += float(weight)
        path.append((query.docnos[at], total))
    return path


def _precision(measure: P, query: OpenQuery) -> Extremes:
    return _linear(query, query.weights(lambda rank: np.isfinite(rank) / measure.cutoff))


def _gain(measure: DCG, query: OpenQuery) -> Extremes:
    form = FORMS[measure.dcg]
    return _linear(query, query.weights(lambda rank: form.worth(query.top, rank)))


def _first_relevant(measure: RR | MFR | Success, query: OpenQuery) -> Extremes:
    """One relevant document is enough for either end: more can only help the other run."""
    known = [min(ranks[grades >= measure.rel], default=math.inf) for ranks, grades in query.hits]
    if isinstance(measure, MFR):
        last = measure.cutoff + 1.0
        value: Callable[[Values], Values] = lambda rank: np.minimum(rank, last)  # noqa: E731 -- three one-line forms
    elif isinstance(measure, RR):
        value = lambda rank: 1 / rank  # noqa: E731
    else:
        value = lambda rank: np.isfinite(rank).astype(float)  # noqa: E731
    after = value(np.minimum(query.first, known[0])) - value(np.minimum(query.second, known[1]))
    lowest, highest = min(after, default=query.difference), max(after, default=query.difference)
    down = [(query.docnos[int(np.argmin(after))], float(lowest))] if lowest < query.difference - SAME else []
    up = [(query.docnos[int(np.argmax(after))], float(highest))] if highest > query.difference + SAME else []
    return Extremes(min(float(lowest), query.difference), max(float(highest), query.difference), down, up)


def _recall(measure: R, query: OpenQuery) -> Extremes:
    """A ratio of two linear functions is lowest and highest at a corner: all or none of each group is relevant.

    The groups are the documents of the first run only, of the second only, and of both.
    """
    ours, theirs = np.isfinite(query.first), np.isfinite(query.second)
    groups = [np.flatnonzero(of).tolist() for of in (ours & ~theirs, theirs & ~ours, ours & theirs)]
    hits = [int((grades >= measure.rel).sum()) for _, grades in query.hits]
    relevant = int((query.known >= measure.rel).sum())

    def value(first: int, second: int, common: int) -> float:
        whole = relevant + first + second + common
        return (hits[0] - hits[1] + first - second) / whole if whole else 0.0

    sizes = [len(group) for group in groups]
    corners = list(product(*((0, size) for size in sizes)))
    ends = min(corners, key=lambda of: value(*of)), max(corners, key=lambda of: value(*of))
    paths = []
    for corner, order in zip(ends, ((1, 2, 0), (0, 2, 1)), strict=True):
        counts, path = [0, 0, 0], []
        for group in order:
            for at in groups[group][: corner[group]]:
                counts[group] += 1
                path.append((query.docnos[at], value(*counts)))
        paths.append(path)
    return Extremes(value(*ends[0]), value(*ends[1]), paths[0], paths[1])


def _normalised_gain(measure: NDCG, query: OpenQuery) -> Extremes | None:
    """Try every number of documents of each grade: the ideal depends on these numbers alone.

    For given numbers the difference of the gains is largest where the highest grades go to the documents that help the
    first run most. None where there are too many ways.
    """
    count, top = len(query.docnos), query.top
    if math.comb(count + top, top) > MOST_COUNTS:
        return None
    form = FORMS[measure.dcg]
    counts = _grade_counts(count, top)
    grades = np.array([[*np.repeat(np.arange(top, 0, -1), of[::-1]), *[0] * (count - sum(of))] for of in counts])
    grades = grades.reshape(len(counts), count).astype(float)
    known = np.sort(query.known)[::-1][: measure.cutoff]
    whole = np.sort(np.hstack([grades, np.broadcast_to(known, (len(counts), len(known)))]), axis=1)[:, ::-1]
    whole = whole[:, : measure.cutoff]
    ideal = form.worth(whole, np.arange(1, whole.shape[1] + 1)).sum(axis=1)
    gained = [float(form.worth(of, ranks).sum()) for ranks, of in query.hits]
    weights = query.weights(lambda rank: form.worth(1, rank) / form.gain(1))
    gains = form.gain(grades)
    ends, paths = [], []
    for order, best in (
        (np.argsort(weights, kind="stable"), np.argmin),
        (np.argsort(-weights, kind="stable"), np.argmax),
    ):
        over = gained[0] - gained[1] + gains @ weights[order]
        values = np.divide(over, ideal, out=np.zeros(len(over)), where=ideal > 0)
        ends.append(float(values[int(best(values))]))
        all_top = [counts.index((*[0] * (top - 1), number)) for number in range(1, count + 1)]
        stop = int(best([query.difference, *values[all_top]]))
        paths.append([(query.docnos[at], float(values[row])) for at, row in zip(order[:stop], all_top, strict=False)])
    return Extremes(ends[0], ends[1], paths[0], paths[1])


@lru_cache(maxsize=64)
def _grade_counts(count: int, top: int) -> list[tuple[int, ...]]:
    """All numbers of documents of the grades 1 to `top`, at most `count` together."""
    if top == 0:
        return [()]
    return [(*rest, last) for last in range(count + 1) for rest in _grade_counts(count - last, top - 1)]


FINDERS: dict[type[Measure], Callable[..., Extremes | None]] = {
    P: _precision,
    R: _recall,
    RR: _first_relevant,
    MFR: _first_relevant,
    Success: _first_relevant,
    DCG: _gain,
    NDCG: _normalised_gain,
}


def _turning(extremes: Mapping[str, Extremes | None], values: Values) -> list[Turning]:
    """The judgments that turn the sign of the sum, by their effect for each document; none where they do not suffice.

    It is the smallest set where each document counts by itself (P, DCG) or one for each query (RR, MFR).
    """
    total = float(values.sum())
    if abs(total) <= SAME * len(values):
        return []
    chunks: list[tuple[float, str, list[str]]] = []
    for (qid, of), value in zip(extremes.items(), values.tolist(), strict=True):
        path = [] if of is None else of.down if total > 0 else of.up
        chunks += [(slope, qid, docs) for slope, docs in _hull(value, path)]
    chunks.sort(key=lambda chunk: -round(chunk[0], DIGITS))
    turned: list[Turning] = []
    left = abs(total)
    for slope, qid, docs in chunks:
        turned += [Turning(qid, docno, math.copysign(slope, -total)) for docno in docs]
        left -= slope * len(docs)
        if left < -SAME * len(values):
            return turned
    return []


def _hull(start: float, path: Path) -> list[tuple[float, list[str]]]:
    """The path in pieces of falling effect a document: (effect, documents)."""
    changes = [0.0, *(abs(value - start) for _, value in path)]
    pieces, at = [], 0
    while at < len(path):
        slopes = [(changes[to] - changes[at]) / (to - at) for to in range(at + 1, len(changes))]
        step = int(np.argmax(np.round(slopes, DIGITS))) + 1  # the first of equal ones
        if slopes[step - 1] <= 0:
            break
        pieces.append((slopes[step - 1], [docno for docno, _ in path[at : at + step]]))
        at += step
    return pieces
