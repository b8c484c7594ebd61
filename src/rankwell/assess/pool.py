"""Which passages are graded for a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rankwell.core import Judgments, ParameterError, Run

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
    """Passages that somebody listed, in their order."""
    return {qid: {docno: rank for rank, docno in enumerate(docnos, 1)} for qid, docnos in lists.items()}


def only_unjudged(pool: Pool, judgments: Judgments) -> Pool:
    """What nobody has judged, of queries that are judged at all."""
    return {
        qid: {docno: rank for docno, rank in passages.items() if docno not in judgments[qid]}
        for qid, passages in pool.items()
        if qid in judgments
    }


def with_known(pool: Pool, judgments: Judgments) -> Pool:
    """The pool with all passages that are known to be relevant to its queries."""
    return {
        qid: passages | {docno: None for docno in judgments.relevant(qid) if docno not in passages}
        for qid, passages in pool.items()
    }
