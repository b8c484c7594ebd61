"""Sampling a study's queries, and pooling the passages to be graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from rankwell.core import Judgments, ParameterError, Run

LAST_RANKS = {"high": 20, "medium": 80, "low": 100}
OUTSIDE = "outside"
STRATA = (*LAST_RANKS, OUTSIDE)


def strata(run: Run, judgments: Judgments) -> dict[str, str]:
    """The stratum of every query with a known relevant passage."""
    best: dict[str, int] = {}
    for qid, ranking in run.rankings():
        relevant = set(judgments.relevant(qid))
        ranks = (rank for rank, docno in enumerate(ranking.docnos.tolist(), 1) if docno in relevant)
        first = next(ranks, None)
        if first is not None:
            best[qid] = first
    return {qid: stratum_of(best.get(qid)) for qid in judgments if judgments.relevant(qid)}


def stratum_of(rank: int | None) -> str:
    """The stratum of a query whose best known relevant passage has this rank."""
    return next((name for name, last in LAST_RANKS.items() if rank is not None and rank <= last), OUTSIDE)


def sample_queries(by_query: Mapping[str, str], sizes: Mapping[str, int], seed: int = 0) -> list[str]:
    """A random sample of queries with the given number of each stratum, in their original order."""
    there = Counter(by_query.values())
    for name, size in sizes.items():
        if name not in STRATA:
            raise ParameterError("sample", expected=f"strata named {', '.join(STRATA)}", found=name)
        if not 0 <= size <= there[name]:
            raise ParameterError(
                f"sample: {name}", expected=f"0 to {there[name]:,}, the queries of that stratum", found=size
            )
    random = Random(seed)  # noqa: S311 -- a sample that can be drawn again
    drawn: set[str] = set()
    for name in STRATA:
        drawn.update(random.sample([qid for qid, of in by_query.items() if of == name], sizes.get(name, 0)))
    return [qid for qid in by_query if qid in drawn]


Pool = dict[str, dict[str, int | None]]  # query -> passage -> best rank in any run, None where no run has it


def pool_of_runs(runs: Iterable[Run], depth: int) -> Pool:
    """The passages in the top `depth` of any run, best ranked first."""
    if depth < 1:
        raise ParameterError("depth", expected="a number of passages, at least 1", found=depth)
    best: dict[str, dict[str, int]] = {}
    for run in runs:
        for qid, ranking in run.top(depth).rankings():
            ranks = best.setdefault(qid, {})
            for rank, docno in enumerate(ranking.docnos.tolist(), 1):
                ranks[docno] = min(rank, ranks.get(docno, rank))
    return {qid: dict(sorted(ranks.items(), key=lambda item: (item[1], item[0]))) for qid, ranks in best.items()}


def pool_of_lists(lists: Mapping[str, Sequence[str]]) -> Pool:
    """The pool of listed passages; a passage's rank is its place in the list."""
    return {qid: {docno: rank for rank, docno in enumerate(docnos, 1)} for qid, docnos in lists.items()}


def only_unjudged(pool: Pool, judgments: Judgments) -> Pool:
    """The unjudged passages of the pool, for queries with any judgment."""
    return {
        qid: {docno: rank for docno, rank in passages.items() if docno not in judgments[qid]}
        for qid, passages in pool.items()
        if qid in judgments
    }


def with_known(pool: Pool, judgments: Judgments) -> Pool:
    """The pool with all known relevant passages of its queries added."""
    return {
        qid: passages | {docno: None for docno in judgments.relevant(qid) if docno not in passages}
        for qid, passages in pool.items()
    }
