"""A run joined with its judgments: the rank of each judged document. Every measure reads this."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import cast

import numpy as np
import numpy.typing as npt

from rankwell.core import Floats, Integers, Judgments, ParameterError, RankwellError, Run, Strings
from rankwell.core.run_lines import kernels, parts, worth_loading
from rankwell.core.text_column import TextColumn

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pool:
    """One row a judgment: the query's place in the judgments and the grade."""

    queries: int
    query: Integers
    grade: Integers

    @classmethod
    def of(cls, judgments: Judgments) -> Pool:
        """The judgments without their document ids."""
        sizes = [len(of_query) for of_query in judgments.values()]
        grades = (grade for of_query in judgments.values() for grade in of_query.values())
        return cls(
            len(sizes),
            np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
            np.fromiter(grades, dtype=np.int64, count=sum(sizes)),
        )

    def count(self, which: Mask) -> Values:
        """Number of marked documents of each query."""
        return np.bincount(self.query[which], minlength=self.queries).astype(np.float64)

    def total(self, query: Integers, values: Values) -> Values:
        """The sum of each query's values."""
        return np.bincount(query, weights=values, minlength=self.queries).astype(np.float64)

    def relevant(self, rel: int = 1) -> Values:
        """Number of documents of at least this grade for each query."""
        return self.count(self.grade >= rel)

    @cached_property
    def highest(self) -> Values:
        """The highest grade of each query, at least 1."""
        highest = np.ones(self.queries)
        np.maximum.at(highest, self.query, self.grade)
        return highest

    @cached_property
    def best_order(self) -> tuple[Integers, Integers, Integers]:
        """Query, rank and grade of the relevant documents in the order of a perfect run, the best grade first."""
        kept = self.grade > 0
        query, grade = self.query[kept], self.grade[kept]
        order = np.lexsort((-grade, query))
        query, grade = query[order], grade[order]
        return query, np.arange(1, len(query) + 1) - np.searchsorted(query, query), grade

    def enlarged(self, query: Integers, grade: Integers) -> Pool:
        """The pool with more judged documents."""
        return Pool(self.queries, np.concatenate((self.query, query)), np.concatenate((self.grade, grade)))


def check_depth(depth: int) -> None:
    """Raise a ParameterError for a number of documents below 1."""
    if depth < 1:
        raise ParameterError("depth", expected="a number of documents, at least 1", found=depth)


def share(part: Values, whole: Values) -> Values:
    """Part / whole, and 0 where the whole is 0, as in trec_eval for a query without relevant documents."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged documents that a run returned ("hits"), by query and rank.

    Measures depend on the ranks of judged documents and on how many documents were returned, not on the ids of the
    others; so a run of seven million lines becomes a few thousand hits. Queries are those of the judgments, in their
    order: one that the run lacks is there and has no hits (trec_eval -c), one without judgments is not there.
    """

    qids: tuple[str, ...]
    pool: Pool
    query: Integers  # of each hit: the place of its query in `qids`; rising
    rank: Integers  # of each hit: its rank in the run, from 1; rising within a query
    grade: Integers
    score: Floats
    retrieved: Integers  # of each query: how many documents the run returned
    missing: tuple[str, ...] = ()  # queries with judgments that are not in the run
    unknown: tuple[str, ...] = ()  # queries of the run without judgments
    documents: Sized | None = None  # of the collection, where the run knows it

    def relevant(self, rel: int = 1, depth: int | None = None) -> Mask:
        """The hits of at least this grade, down to this rank."""
        return (self.grade >= rel) & self.within(depth)

    def within(self, depth: int | None = None) -> Mask:
        """The hits down to this rank."""
        return np.ones(len(self.rank), dtype=bool) if depth is None else self.rank <= depth

    def count(self, which: Mask) -> Values:
        """Number of marked hits of each query."""
        return np.bincount(self.query[which], minlength=len(self.qids)).astype(np.float64)

    def total(self, which: Mask, values: Values) -> Values:
        """The sum of each query's values over its marked hits (`values`: one a marked hit)."""
        return self.pool.total(self.query[which], values)

    def highest(self, which: Mask, values: Values) -> Values:
        """The largest of each query's values over its marked hits, 0 without one."""
        best = np.zeros(len(self.qids))
        np.maximum.at(best, self.query[which], values)
        return best

    def running(self, which: Mask) -> Integers:
        """For every hit, the number of its query's marked hits at its rank or above."""
        seen = np.concatenate(([0], np.cumsum(which)))
        return seen[1:] - seen[self._first[self.query]]

    @cached_property
    def _first(self) -> Integers:
        """For every query, the place of its first hit."""
        return np.searchsorted(self.query, np.arange(len(self.qids)))

    def returned(self, depth: int | None) -> Values:
        """Number of returned documents of each query down to this rank."""
        return (self.retrieved if depth is None else np.minimum(self.retrieved, depth)).astype(np.float64)

    def unjudged(self, depth: int | None = None) -> Values:
        """Number of unjudged documents of each query down to this rank."""
        return self.returned(depth) - self.count(self.within(depth))

    @cached_property
    def condensed(self) -> Judged:
        """The same without the unjudged documents: those below them move up."""
        hits = self.within()
        return replace(self, rank=self.running(hits), retrieved=self.count(hits).astype(np.int64))


# Converting a ranking to Python strings costs about as much as comparing it with this many ids.
FEW = 6
NAMED = 3


def join(judgments: Judgments, run: Run, pool: Pool | None = None, name: str | None = None) -> Judged:
    """Join a run with its judgments.

    `pool`: the judgments' pool, if it exists already; `name`: the run's name in errors (default: its tag).
    """
    qids = tuple(judgments)
    spans = dict(zip(run.qids, zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True), strict=True))
    if not any(qid in spans for qid in qids):
        raise RankwellError(
            f"run {name or run.tag!r}: expected a query in common with the judgments, "
            f"found {_some(run.qids)} in the run and {_some(qids)} in the judgments"
        )
    first, last = np.array([spans.get(qid, (0, 0)) for qid in qids], dtype=np.int64).reshape(-1, 2).T
    pool = pool or Pool.of(judgments)
    large = isinstance(run.docnos, TextColumn) and worth_loading(len(run))
    query, at, grade = _look_up(judgments, run) if large else _compare(judgments, run.docnos, first, last)
    return Judged(
        qids=qids,
        pool=pool,
        query=query,
        rank=at - first[query] + 1,
        grade=grade,
        score=run.scores[at],
        retrieved=last - first,
        missing=tuple(qid for qid in qids if qid not in spans),
        unknown=tuple(qid for qid in run.qids if qid not in judgments),
        documents=run.documents,
    )


Hits = tuple[Integers, Integers, Integers]  # query, row in the run, grade


def _compare(judgments: Judgments, docnos: Strings, first: Integers, last: Integers) -> Hits:
    """The judged documents of each query's rows, as strings."""
    hits: list[int] = []
    grades: list[int] = []
    places: list[int] = []
    for of_query, start, end in zip(judgments.values(), first.tolist(), last.tolist(), strict=True):
        judged = _find(docnos[start:end], of_query) if end > start else []
        hits.extend(start + at for at, _ in judged)
        grades.extend(grade for _, grade in judged)
        places.append(len(judged))
    query = np.repeat(np.arange(len(places), dtype=np.int64), places)
    return query, np.array(hits, dtype=np.int64), np.array(grades, dtype=np.int64)


def _look_up(judgments: Judgments, run: Run) -> Hits:
    """The same with compiled loops over the bytes of the ids, some queries at a time."""
    column = cast("TextColumn", run.docnos)
    judged = TextColumn.of([docno.encode() for of_query in judgments.values() for docno in of_query])
    grades = np.array([grade for of_query in judgments.values() for grade in of_query.values()], dtype=np.int64)
    ends = np.array([0, *accumulate(len(of_query) for of_query in judgments.values())], dtype=np.int64)
    places = {qid: place for place, qid in enumerate(judgments)}
    # Queries without judgments look up nothing.
    own = np.array([places.get(qid, len(places)) for qid in run.qids], dtype=np.int64)
    begins, finishes = np.append(ends[:-1], 0)[own], np.append(ends[1:], 0)[own]
    texts = judged.data, *judged.spans(0, len(judged))
    rows, numbers = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for first, last in parts(run.offsets):
        start, end = int(run.offsets[first]), int(run.offsets[last])
        found = np.full(end - start, -1, dtype=np.int64)
        lines = run.offsets[first : last + 1] - start, column.data, *column.spans(start, end)
        kernels().mark_judged(*lines, begins[first:last], finishes[first:last], *texts, found)
        hits = np.flatnonzero(found >= 0)
        rows.append(hits + start)
        numbers.append(found[hits])
    at, number = np.concatenate(rows), np.concatenate(numbers)
    query = np.searchsorted(ends, number, side="right") - 1
    order = np.lexsort((at, query))
    return query[order], at[order], grades[number[order]]


def _find(docnos: Strings, grades: Mapping[str, int]) -> list[tuple[int, int]]:
    """Place and grade of the judged documents of one ranking, in its order."""
    if len(grades) > FEW:
        return [(at, grade) for at, grade in enumerate(map(grades.get, docnos.tolist())) if grade is not None]
    places = ((np.flatnonzero(docnos == docno), grade) for docno, grade in grades.items())
    return sorted((int(at), grade) for positions, grade in places for at in positions)


def _some(qids: tuple[str, ...]) -> str:
    """The first few query ids, for an error."""
    if not qids:
        return "no query"
    return ", ".join(map(repr, qids[:NAMED])) + (", ..." if len(qids) > NAMED else "")


OWN = ("auto", "keep", "drop")
LOOKED_AT = 10  # ranks at which a query's own document is looked for


def leave_out_own(
    judgments: Judgments, runs: Mapping[str, Run], how: str = "auto"
) -> tuple[dict[str, Run], str | None]:
    """The runs without documents that have their query's own id, as BEIR's rule is, and a sentence about it.

    `auto` applies the rule where queries are documents: at least half of the queries find a document of their own id
    among the first ten, and none of these is judged relevant, as a document that was to be found would be.
    """
    if how not in OWN:
        raise ParameterError("own documents", expected=" or ".join(OWN), found=how)
    if how == "keep" or not any(_are_documents(judgments, run) or how == "drop" for run in runs.values()):
        return dict(runs), None
    said = "documents with their query's own id are left out, because queries are documents here"
    return {name: run.without_own() for name, run in runs.items()}, said


def _are_documents(judgments: Judgments, run: Run) -> bool:
    asked = [qid for qid in judgments if qid in run]
    if any(judgments[qid].get(qid, 0) > 0 for qid in asked):
        return False
    own = sum(qid in run[qid].docnos[:LOOKED_AT].tolist() for qid in asked)
    return own > 0 and 2 * own >= len(asked)
