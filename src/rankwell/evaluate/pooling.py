"""Which documents somebody would have to judge to settle a comparison."""

from __future__ import annotations

import json
import os
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
    path: Path,
    pool: Mapping[str, Sequence[str]],
    *,
    qrels: Path,
    runs: Sequence[Path],
    depth: int,
    queries: Path | None = None,
    collection: str | None = None,
) -> None:
    """The documents to judge as a study file that `rankwell assess create` takes.

    It says which judgments and runs the documents came from, where queries and texts are (as far as known), and lists
    the documents of every query. Files are named from the study file's folder, as they are meant there.
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
    """A file as TOML's text, named from the study's folder; what is no file (irds:ID) and whole paths as they are."""
    named = Path(source)
    from_there = named.exists() and not named.is_absolute()
    return json.dumps(os.path.relpath(named, study.parent) if from_there else str(source))
