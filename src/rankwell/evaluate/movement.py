"""How far documents move between two runs, as by re-ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankwell.core import ParameterError, RankwellError, Run


@dataclass(frozen=True)
class RankMovement:
    """Mean number of places, up or down, that the top documents of one run moved in another."""

    depth: int
    places: Mapping[str, float]  # by query id; queries of which no document is in both runs are not there
    moved: int  # documents that were compared
    lost: int  # documents of the first run's top that the second run does not have

    @property
    def mean(self) -> float:
        """The mean over queries."""
        return sum(self.places.values()) / len(self.places)


def rank_movement(before: Run, after: Run, depth: int = 10) -> RankMovement:
    """Follow the top documents of `before` to their ranks in `after`.

    places(q) = mean over documents d in both of |rank_after(d) - rank_before(d)|
    """
    if depth < 1:
        raise ParameterError("depth", expected="a number of documents, at least 1", found=depth)
    places: dict[str, float] = {}
    moved = lost = 0
    for qid, ranking in before.rankings():
        if qid not in after:
            continue
        now = {docno: rank for rank, docno in enumerate(after[qid].docnos.tolist(), 1)}
        top = ranking.docnos[:depth].tolist()
        steps = [abs(now[docno] - rank) for rank, docno in enumerate(top, 1) if docno in now]
        moved, lost = moved + len(steps), lost + len(top) - len(steps)
        if steps:
            places[qid] = sum(steps) / len(steps)
    if not places:
        raise RankwellError(f"runs {before.tag!r} and {after.tag!r}: expected a document in both, found none")
    return RankMovement(depth, places, moved, lost)
