"""What changed for each query between two runs: the kind of change, and the facts behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankwell.core import Judgments, Run
from rankwell.evaluation.judged import check_depth

NOWHERE = "none"


@dataclass(frozen=True)
class Standing:
    """What one run has for one query: its top k, and the ranks of the relevant documents that it returned."""

    top: Sequence[str]
    relevant: Mapping[str, int]  # document id -> rank, in the order of the ranks
    unjudged: int  # documents in the top k

    @classmethod
    def of(cls, docnos: Sequence[str], grades: Mapping[str, int], depth: int, rel: int = 1) -> Standing:
        """The standing of a ranking, given as document ids from the best to the worst."""
        relevant = {docno: rank for rank, docno in enumerate(docnos, 1) if grades.get(docno, 0) >= rel}
        top = tuple(docnos[:depth])
        return cls(top, relevant, sum(docno not in grades for docno in top))

    @property
    def first(self) -> int | None:
        """The rank of the first relevant document; None where none was returned."""
        return next(iter(self.relevant.values()), None)

    @property
    def on_top(self) -> dict[str, int]:
        """The relevant documents of the top k with their ranks."""
        return {docno: rank for docno, rank in self.relevant.items() if rank <= len(self.top)}


@dataclass(frozen=True)
class Kind:
    """A kind of change: its name, what it means, and whether it fits. The first that fits is the query's."""

    name: str
    meaning: str  # {k}: the depth
    fits: Callable[[Standing, Standing, int], bool]  # before, after, relevant documents in the judgments


def _more(before: Standing, after: Standing) -> int:
    return len(after.on_top) - len(before.on_top)


def _rank(standing: Standing) -> float:
    return standing.first or float("inf")


KINDS = (
    Kind("no relevant known", "the judgments have no relevant document", lambda _a, _b, known: known == 0),
    Kind("no results", "one of the runs returned nothing", lambda a, b, _known: bool(a.top) != bool(b.top)),
    Kind("same", "the same documents in the same order in the top {k}", lambda a, b, _known: a.top == b.top),
    Kind("none found", "no relevant document in either top {k}", lambda a, b, _known: not (a.on_top or b.on_top)),
    Kind(
        "unjudged instead",
        "fewer relevant documents in the top {k}, and at least as many more unjudged ones: judging may turn it",
        lambda a, b, _known: 0 < -_more(a, b) <= b.unjudged - a.unjudged,
    ),
    Kind("found", "relevant documents in the top {k}, where there was none", lambda a, _b, _known: not a.on_top),
    Kind("lost", "no relevant document in the top {k} any more", lambda _a, b, _known: not b.on_top),
    Kind("more relevant", "more relevant documents in the top {k}", lambda a, b, _known: _more(a, b) > 0),
    Kind("fewer relevant", "fewer relevant documents in the top {k}", lambda a, b, _known: _more(a, b) < 0),
    Kind("first up", "as many, and the first one is higher", lambda a, b, _known: _rank(b) < _rank(a)),
    Kind("first down", "as many, and the first one is lower", lambda a, b, _known: _rank(b) > _rank(a)),
    Kind("other relevant", "as many, but others", lambda a, b, _known: a.on_top.keys() != b.on_top.keys()),
    Kind("other order", "the same relevant documents at other ranks", lambda a, b, _known: a.on_top != b.on_top),
    Kind("others moved", "the relevant documents kept their ranks", lambda _a, _b, _known: True),
)


@dataclass(frozen=True)
class QueryChange:
    """The kind of a query's change from one run to another, and the facts behind it in words."""

    qid: str
    kind: str
    why: str


def query_changes(
    judgments: Judgments, before: Run, after: Run, depth: int = 10, *, rel: int = 1, condensed: bool = False
) -> Iterator[QueryChange]:
    """The change of each judged query, in the order of the judgments; `condensed`: without unjudged documents.

    >>> [change.kind for change in query_changes(judgments, run, other)]
    """
    check_depth(depth)
    for qid, grades in judgments.items():
        both = [
            Standing.of(ranked(run, qid, grades if condensed else None), grades, depth, rel) for run in (before, after)
        ]
        known = sum(grade >= rel for grade in grades.values())
        kind = next(kind for kind in KINDS if kind.fits(both[0], both[1], known))
        yield QueryChange(qid, kind.name, "; ".join(_facts(both[0], both[1], grades, depth)))


def ranked(run: Run, qid: str, judged: Mapping[str, int] | None = None) -> list[str]:
    """The document ids of a query, best first, none for a query that the run lacks; only those in `judged`."""
    docnos: list[str] = run[qid].docnos.tolist() if qid in run else []
    return docnos if judged is None else [docno for docno in docnos if docno in judged]


def _facts(before: Standing, after: Standing, grades: Mapping[str, int], depth: int) -> Iterator[str]:
    """What differs, as short phrases, the rank of the first relevant document first."""
    figures = {
        "first relevant": (before.first or NOWHERE, after.first or NOWHERE),
        f"relevant in the top {depth}": (len(before.on_top), len(after.on_top)),
        f"unjudged in the top {depth}": (before.unjudged, after.unjudged),
    }
    yield from (f"{what}: {old} → {new}" for what, (old, new) in figures.items() if old != new)
    for verb, here, there in (("left", before, after), ("entered", after, before)):
        moved = [docno for docno in here.on_top if docno not in there.on_top]
        best = max(moved, key=lambda docno: grades[docno], default=None)
        if best is not None:
            old, new = (standing.relevant.get(best, NOWHERE) for standing in (before, after))
            yield f"grade {grades[best]} {verb}: {old} → {new}"
