"""Normalised discounted cumulative gain: DCG over that of the best possible order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.dcg import DCG
from rankwell.evaluate.measures.measure import Effect
from rankwell.evaluate.pool import Mask, Pool, Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class NDCG(DCG):
    """DCG@k divided by the DCG@k of the ideal order; the three forms are those of DCG.

    nDCG@k = DCG@k / ideal DCG@k

    ideal='judged':   of all judged documents of the query, returned or not (trec_eval's; the only one with which runs
                      can be compared)
    ideal='matched':  of the judged documents that the whole run holds for the query
    ideal='list':     of the top k themselves, in their best order

    Where unjudged documents have a grade (`unjudged=1`), those that the list holds are in the ideal too, so that no
    list is better than ideal.
    """

    name = "nDCG"
    effect = Effect.BOTH

    ideal: str = "judged"

    def __post_init__(self) -> None:
        if self.ideal not in IDEALS:
            raise ParameterError("nDCG, ideal", expected=" or ".join(map(repr, IDEALS)), found=self.ideal)
        super().__post_init__()

    @property
    def has_bounds(self) -> bool:
        """Only against an ideal that stands apart from the list."""
        return super().has_bounds and self.ideal == "judged"

    def per_query(self, judged: Judged) -> Values:
        """The list's gain over the ideal one."""
        return share(super().per_query(judged), self.ideal_gain(judged))

    def ideal_gain(self, judged: Judged) -> Values:
        """The DCG of the ideal order."""
        pool, depth = IDEALS[self.ideal](judged, self.cutoff)
        if self.unjudged:
            extra = np.repeat(np.arange(len(judged.qids)), judged.unjudged(depth).astype(np.int64))
            pool = pool.enlarged(extra, np.full(len(extra), self.unjudged))
        query, rank, grade = pool.best_order
        top = slice(None) if self.cutoff is None else rank <= self.cutoff
        return pool.total(query[top], self.form.worth(grade[top], rank[top]))


def _judged(judged: Judged, cutoff: int | None) -> tuple[Pool, int | None]:
    return judged.pool, cutoff


def _matched(judged: Judged, cutoff: int | None) -> tuple[Pool, int | None]:  # noqa: ARG001 -- as the others
    return _hits(judged, judged.within()), None


def _list(judged: Judged, cutoff: int | None) -> tuple[Pool, int | None]:
    return _hits(judged, judged.within(cutoff)), cutoff


def _hits(judged: Judged, which: Mask) -> Pool:
    """The marked hits as if they were all that was ever judged."""
    return Pool(len(judged.qids), judged.query[which], judged.grade[which])


# By name: the judged documents the ideal is made of, and how far down unjudged documents belong to it.
IDEALS: MappingProxyType[str, Callable[[Judged, int | None], tuple[Pool, int | None]]] = MappingProxyType(
    {"judged": _judged, "matched": _matched, "list": _list}
)
