"""Which queries a study takes: a sample with so many of each stratum.

A query's stratum says where a first ranking has the best-ranked passage that is known to be relevant: high (ranks 1 to
20), medium (21 to 80), low (81 to 100) or outside (deeper, or not found). Queries of which no relevant passage is known
have none. A re-ranker can do something about high and medium ones; outside ones are lost before it begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

from rankwell.core import Judgments, ParameterError, Run

LAST_RANKS = {"high": 20, "medium": 80, "low": 100}
OUTSIDE = "outside"
STRATA = (*LAST_RANKS, OUTSIDE)


def strata(run: Run, judgments: Judgments) -> dict[str, str]:
    """The stratum of every query of which a relevant passage is known."""
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
    """So many queries of each stratum, drawn at random, in the order in which they stand."""
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
