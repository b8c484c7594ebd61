"""Fusion: one run from several, by their scores (normalised) or by their ranks."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from rankwell.core import Integers, ParameterError, Phrase, Queries, Query, Run, Stage, Strings
from rankwell.core.run import Values, of_query, unit

Normaliser = Callable[[Run], Values]


def _scores(run: Run) -> Values:
    return run.scores.astype(np.float64)


def zscore(run: Run) -> Values:
    """(s - mean) / standard deviation. Where all scores are equal: 0."""
    scores = _scores(run)
    sizes = of_query(np.add, np.ones(len(scores)), run)
    # Equal scores must have a deviation of exactly 0, which rounding in sum and division would not ensure.
    differ = of_query(np.maximum, scores, run) > of_query(np.minimum, scores, run)
    centred = scores - of_query(np.add, scores, run) / sizes
    deviation = np.sqrt(of_query(np.add, centred**2, run) / sizes)
    return np.divide(centred, deviation, out=np.zeros(len(scores)), where=differ & (deviation > 0))


def share(run: Run) -> Values:
    """(s - lowest) / sum of (s - lowest): the scores of a query sum to 1. Where all are equal, so are the results."""
    scores = _scores(run)
    above = scores - of_query(np.minimum, scores, run)
    total = of_query(np.add, above, run)
    equal = 1 / of_query(np.add, np.ones(len(scores)), run)
    return np.divide(above, total, out=equal, where=total > 0)


def borda(run: Run) -> Values:
    """By rank alone: (n - rank + 1) / n for n documents, so 1 for the first."""
    sizes = of_query(np.add, np.ones(len(run)), run)
    return (sizes - run.ranks + 1) / sizes


NORMALISERS: dict[str, Normaliser] = {"unit": unit, "zscore": zscore, "share": share, "borda": borda, "none": _scores}


def normaliser(name: str) -> Normaliser:
    """The normaliser of that name."""
    if name not in NORMALISERS:
        raise ParameterError("normalise", expected=" or ".join(NORMALISERS), found=name)
    return NORMALISERS[name]


@dataclass(frozen=True)
class Fusion(ABC):
    """A way to fuse several runs into one: all queries and documents of any of them, with new scores.

    `weights`: one per run, in their order; 1 each by default. Parts are summed in the order of the runs.

    >>> issubclass(ReciprocalRank, Fusion)
    True
    """

    name: ClassVar[str]

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None and not np.isfinite(np.asarray(self.weights, dtype=np.float64)).all():
            raise ParameterError("weights", expected="finite numbers", found=self.weights)

    def __call__(self, *runs: Run) -> Run:
        """Fuse the runs into one."""
        if not runs:
            raise ParameterError("runs", expected="one run or more", found="none")
        weights = (1.0,) * len(runs) if self.weights is None else self.weights
        if len(weights) != len(runs):
            raise ParameterError("weights", expected=f"{len(runs)} numbers, one a run", found=weights)
        union = _Union(runs)
        scores = np.zeros(len(union.pairs))
        for weight, run, places, queries in zip(weights, runs, union.places, union.queries, strict=True):
            part = self.missing(run, queries, len(union.qids))[union.query]
            part[places] = self.part(run)
            scores += weight * part
        documents = next((run.documents for run in runs if run.documents is not None), None)
        travelling = {"queries": _all_queries(runs), "documents": documents, "tag": self.name}
        return Run.from_columns(union.qids, union.offsets, union.docnos, self.total(scores, union.counts), **travelling)

    @abstractmethod
    def part(self, run: Run) -> Values:
        """A run's part of each document's score, before the weight."""

    def missing(self, run: Run, queries: Integers, total: int) -> Values:  # noqa: ARG002 -- 0 here, a minimum in subclasses
        """A run's part for documents that it lacks, for each of the `total` queries."""
        return np.zeros(total)

    def total(self, scores: Values, counts: Values) -> Values:  # noqa: ARG002 -- for methods that count runs
        """The final scores; `counts`: the number of runs with each document."""
        return scores


@dataclass(frozen=True)
class ReciprocalRank(Fusion):
    """Reciprocal rank fusion: ranks only, so that the runs' scores need no common scale.

    score(d) = sum over runs of w / (k + rank(d))      a run without the document adds nothing

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009, with k = 60.

    >>> ReciprocalRank((2.0, 1.0))(run, other)
    """

    name = "rrf"

    k: float = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.k >= 0:
            raise ParameterError("k", expected="a number, at least 0", found=self.k)

    def part(self, run: Run) -> Values:
        """1 / (k + rank) of each document."""
        return 1 / (self.k + run.ranks)


@dataclass(frozen=True)
class WeightedSum(Fusion):
    """The weighted sum of normalised scores; with weights of 1 this is CombSUM.

    score(d) = sum over runs of w * normalised(score(d))

    A run without the document gives it the run's lowest score for the query, and never more than 0: 0
    for `unit` (min-max), the lowest z-score for `zscore`, and for scores as they are (`none`) 0 where they are
    positive, as BM25's, or the lowest where they are not, as logits: being found must never cost a document its place.
    A run without the query adds nothing.

    Fox and Shaw, "Combination of multiple searches", TREC-2, 1994.

    >>> WeightedSum((0.7, 0.3))(run, other)
    """

    name = "sum"

    normalise: str = "unit"

    def __post_init__(self) -> None:
        super().__post_init__()
        normaliser(self.normalise)

    def part(self, run: Run) -> Values:
        """The normalised scores of the run."""
        return normaliser(self.normalise)(run)

    def missing(self, run: Run, queries: Integers, total: int) -> Values:
        """The run's lowest score for the query, at most 0."""
        floors = np.zeros(total)
        filled = np.flatnonzero(np.diff(run.offsets))  # reduceat cannot handle an empty slice
        if len(filled):
            floors[queries[filled]] = np.minimum(np.minimum.reduceat(self.part(run), run.offsets[filled]), 0)
        return floors


@dataclass(frozen=True)
class CombMNZ(WeightedSum):
    """The sum times the number of runs that found the document: agreement counts twice. For scores of 0 and more.

    score(d) = |runs that hold d| * sum over runs of w * normalised(score(d))      (Fox and Shaw, 1994)

    >>> CombMNZ()(run, other)
    """

    name = "mnz"

    def total(self, scores: Values, counts: Values) -> Values:
        """The sum times the number of runs with the document."""
        return scores * counts


FUSIONS: dict[str, type[Fusion]] = {kind.name: kind for kind in (ReciprocalRank, WeightedSum, CombMNZ)}


def fusion(method: str = "rrf", weights: Sequence[float] | None = None, **parameters: Any) -> Fusion:
    """The fusion method of that name: `rrf` (with `k`), `sum` or `mnz` (with `normalise`)."""
    if method not in FUSIONS:
        raise ParameterError("method", expected=" or ".join(FUSIONS), found=method)
    kind = FUSIONS[method]
    known = [field.name for field in fields(kind)]
    for name in parameters:
        if name not in known:
            raise ParameterError(method, expected=f"only {' and '.join(known)}", found=name)
    return kind(None if weights is None else tuple(weights), **parameters)


def fuse(*runs: Run, method: str = "rrf", weights: Sequence[float] | None = None, **parameters: Any) -> Run:
    """Fuse runs into one: by reciprocal ranks (`rrf`), or by a weighted sum of normalised scores (`sum`, `mnz`).

    >>> fuse(run, other, method="sum", weights=[0.3, 0.7])
    """
    for run in runs:
        if not isinstance(run, Run):
            way_out = "fuse(first, second)" if isinstance(run, list | tuple) else "read files with read_run"
            found = Phrase(f"{type(run).__name__}: {way_out}")
            raise ParameterError("runs", expected="runs, one after the other", found=found)
    return fusion(method, weights, **parameters)(*runs)


@dataclass(frozen=True)
class Hybrid(Stage):
    """Several rankers on the same queries, fused: BM25 and a bi-encoder, say.

    >>> Hybrid((BM25(index), RM3(BM25(index))), WeightedSum((0.7, 0.3)))(queries)
    """

    rankers: tuple[Stage, ...]
    fusion: Fusion = ReciprocalRank()

    def __post_init__(self) -> None:
        if isinstance(self.rankers, Stage):
            found = Phrase("one stage: put them into a tuple, Hybrid((first, second))")
            raise ParameterError("rankers", expected="several stages", found=found)
        rankers = tuple(self.rankers) if isinstance(self.rankers, Iterable) else (self.rankers,)
        wrong = next((ranker for ranker in rankers if not isinstance(ranker, Stage)), None)
        if wrong is not None:
            found = Phrase(f"{type(wrong).__name__}: give rankers, Hybrid((BM25(index), Dense(index)))")
            raise ParameterError("rankers", expected="several stages", found=found)
        object.__setattr__(self, "rankers", rankers)
        if not self.rankers:
            raise ParameterError("rankers", expected="one stage or more", found=self.rankers)

    def check(self) -> None:
        """Check every ranker before the first one runs."""
        for ranker in self.rankers:
            ranker.check()

    def apply(self, run: Run) -> Run:
        """Run every ranker on the same run, and fuse their results."""
        return self.fusion(*(ranker.apply(run) for ranker in self.rankers))


class _Union:
    """The pairs of query and document in any of the runs, as one column, sorted by query."""

    def __init__(self, runs: Sequence[Run]) -> None:
        query_codes = {qid: code for code, qid in enumerate(dict.fromkeys(qid for run in runs for qid in run.qids))}
        self.qids = tuple(query_codes)
        self.queries = [np.array([query_codes[qid] for qid in run.qids], dtype=np.int64) for run in runs]
        documents = _codes([run.docnos for run in runs])
        width = 1 + max((int(codes.max(initial=0)) for codes in documents), default=0)
        keys = [
            np.repeat(queries, np.diff(run.offsets)) * width + codes
            for run, queries, codes in zip(runs, self.queries, documents, strict=True)
        ]
        self.pairs, first, places = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
        self.places = np.split(places, np.cumsum([len(run) for run in runs])[:-1])
        self.counts = np.bincount(places, minlength=len(self.pairs)).astype(np.float64)
        self.query = self.pairs // width
        self.offsets = np.searchsorted(self.query, np.arange(len(self.qids) + 1))
        self.docnos: Strings = np.concatenate([run.docnos for run in runs])[first]


def _codes(columns: Sequence[Strings]) -> list[Integers]:
    """A number for each distinct document id, the same in all columns."""
    known: dict[str, int] = {}
    fresh = itertools.count()
    return [np.fromiter(map(known.setdefault, column.tolist(), fresh), np.int64, len(column)) for column in columns]


def _all_queries(runs: Sequence[Run]) -> Queries | None:
    """The texts of all queries, as far as the runs have them."""
    known: dict[str, Query] = {}
    for run in runs:
        for query in (run.queries or {}).values():
            known.setdefault(query.id, query)
    return Queries(known.values()) if known else None
