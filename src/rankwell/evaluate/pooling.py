"""Which documents somebody would have to judge to settle a comparison."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rankwell.core import Judgments, ParameterError, Run, atomic_write


def unjudged_documents(judgments: Judgments, runs: Iterable[Run], depth: int = 10) -> dict[str, tuple[str, ...]]:
    """For every judged query, the documents in the top `depth` of any run that have no judgment yet.

    The order is that of the best rank in any run, so that judging from the front settles most.
    """
    if depth < 1:
        raise ParameterError("depth", expected="a number of documents, at least 1", found=depth)
    best: dict[str, dict[str, int]] = {}
    for run in runs:
        for qid, ranking in run.top(depth).rankings():
            if qid in judgments:
                ranks = best.setdefault(qid, {})
                for rank, docno in enumerate(ranking.docnos.tolist(), 1):
                    if docno not in judgments[qid]:
                        ranks[docno] = min(rank, ranks.get(docno, rank))
    found = {qid: tuple(sorted(ranks, key=lambda docno: (ranks[docno], docno))) for qid, ranks in best.items()}
    return {qid: docnos for qid, docnos in found.items() if docnos}


def write_study(
    path: Path, pool: Mapping[str, Sequence[str]], *, qrels: Path, runs: Sequence[Path], depth: int
) -> None:
    """The documents to judge as a study file: which judgments and runs it came from, and a list for every query."""
    lines = [
        "# Documents that nobody has judged yet, for assessors.",
        f"depth = {depth}",
        f"qrels = {json.dumps(str(qrels))}",
        f"runs = {json.dumps([str(run) for run in runs])}",
        "",
        "[pool]",
        *(f"{json.dumps(qid)} = {json.dumps(list(docnos))}" for qid, docnos in pool.items()),
    ]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
