"""Finding the judged documents in a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwell.core import Judgments, RankwellError, Run
from rankwell.core.arrays import Strings
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.pool import Pool

# Making Python strings of a ranking costs about as much as comparing all of it with this many ids.
FEW = 6
NAMED = 3


def join(judgments: Judgments, run: Run, pool: Pool | None = None, name: str | None = None) -> Judged:
    """Where the judged documents stand in the run.

    `pool`: that of the judgments, where it is made already; `name`: what an error calls the run, if not by its tag.
    """
    qids = tuple(judgments)
    spans = dict(zip(run.qids, zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True), strict=True))
    if not any(qid in spans for qid in qids):
        raise RankwellError(
            f"run {name or run.tag!r}: expected a query in common with the judgments, "
            f"found {_some(run.qids)} in the run and {_some(qids)} in the judgments"
        )
    retrieved = np.zeros(len(qids), dtype=np.int64)
    places: list[int] = []
    hits: list[int] = []
    grades: list[int] = []
    for place, (qid, of_query) in enumerate(judgments.items()):
        start, end = spans.get(qid, (0, 0))
        retrieved[place] = end - start
        found = _find(run.docnos[start:end], of_query) if end > start else []
        hits.extend(start + at for at, _ in found)
        grades.extend(grade for _, grade in found)
        places.append(len(found))
    query = np.repeat(np.arange(len(qids), dtype=np.int64), places)
    at = np.array(hits, dtype=np.int64)
    starts = np.array([spans.get(qid, (0, 0))[0] for qid in qids], dtype=np.int64)
    return Judged(
        qids=qids,
        pool=pool or Pool.of(judgments),
        query=query,
        rank=at - starts[query] + 1,
        grade=np.array(grades, dtype=np.int64),
        score=run.scores[at],
        retrieved=retrieved,
        missing=tuple(qid for qid in qids if qid not in spans),
        unknown=tuple(qid for qid in run.qids if qid not in judgments),
    )


def _find(docnos: Strings, grades: Mapping[str, int]) -> list[tuple[int, int]]:
    """Place and grade of the judged documents of one ranking, in its order."""
    if len(grades) > FEW:
        looked_up = enumerate(map(grades.get, docnos.tolist()))
        return [(at, grade) for at, grade in looked_up if grade is not None]
    places = ((np.flatnonzero(docnos == docno), grade) for docno, grade in grades.items())
    return sorted((int(at), grade) for found, grade in places for at in found)


def _some(qids: tuple[str, ...]) -> str:
    """The first few query ids, for an error."""
    if not qids:
        return "no query"
    return ", ".join(map(repr, qids[:NAMED])) + (", ..." if len(qids) > NAMED else "")
