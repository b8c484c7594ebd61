"""Discounted cumulative gain (DCG) and its normalised form (nDCG), in three variants of the gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.evaluation.judged import Judged, Mask, Pool, Values, share
from rankwell.evaluation.measures.measure import Effect, Measure


@dataclass(frozen=True)
class Form:
    """A gain of grades, and a discount of ranks."""

    gain: Callable[[npt.ArrayLike], Values]
    discount: Callable[[npt.ArrayLike], Values]

    def worth(self, grade: npt.ArrayLike, rank: npt.ArrayLike) -> Values:
        """Discounted gains. A grade below 0 is worth nothing, as in trec_eval."""
        return self.gain(np.maximum(grade, 0)) / self.discount(rank)


def _linear(grade: npt.ArrayLike) -> Values:
    return np.asarray(grade, dtype=np.float64)


def _from_the_first(rank: npt.ArrayLike) -> Values:
    return np.log2(_linear(rank) + 1)


FORMS = MappingProxyType(
    {
        "log2": Form(_linear, _from_the_first),
        "exp-log2": Form(lambda grade: np.exp2(_linear(grade)) - 1, _from_the_first),
        "original": Form(_linear, lambda rank: np.log2(np.maximum(_linear(rank), 2))),
    }
)


class DCG(Measure):
    """Discounted cumulative gain, in three forms.

    dcg='log2':      sum over i <= k of rel(d_i) / log2(i + 1)          (trec_eval's)
    dcg='exp-log2':  sum over i <= k of (2^rel(d_i) - 1) / log2(i + 1)  (Burges et al., ICML 2005)
    dcg='original':  rel(d_1) + sum over 2 <= i <= k of rel(d_i) / log2(i)
                     (Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002)

    `unjudged` is the grade that a document without judgment is taken to have: 0, or the lowest grade of a scale that
    starts at 1.
    """

    name = "DCG"
    scale = (0.0, np.inf)
    words = MappingProxyType({"dcg": FORMS})

    dcg: str = "log2"
    unjudged: int = 0
    cutoff: int | None = None

    @property
    def has_bounds(self) -> bool:
        """False where `unjudged` gives unjudged documents a grade."""
        return self.unjudged == 0

    def _per_query(self, judged: Judged) -> Values:
        seen, form = judged.within(self.cutoff), FORMS[self.dcg]
        rank = judged.rank[seen]
        gained = judged.total(seen, form.worth(judged.grade[seen], rank))
        if not self.unjudged:
            return gained
        longest = int(judged.returned(self.cutoff).max())
        if_all_were = np.concatenate(([0], np.cumsum(form.worth(self.unjudged, np.arange(1, longest + 1)))))
        taken = judged.total(seen, form.worth(self.unjudged, rank))
        return gained + if_all_were[judged.returned(self.cutoff).astype(np.int64)] - taken


def _hits(judged: Judged, which: Mask) -> Pool:
    """The marked hits as if they were all that was ever judged."""
    return Pool(len(judged.qids), judged.query[which], judged.grade[which])


# By name: the judged documents the ideal is made of, and how far down unjudged documents belong to it.
IDEALS: Mapping[str, Callable[[Judged, int | None], tuple[Pool, int | None]]] = MappingProxyType(
    {
        "judged": lambda judged, cutoff: (judged.pool, cutoff),
        "matched": lambda judged, _: (_hits(judged, judged.within()), None),
        "list": lambda judged, cutoff: (_hits(judged, judged.within(cutoff)), cutoff),
    }
)


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
    scale = (0.0, 1.0)
    effect = Effect.BOTH
    words = MappingProxyType({"dcg": FORMS, "ideal": IDEALS})

    ideal: str = "judged"

    @property
    def has_bounds(self) -> bool:
        """Only against an ideal that stands apart from the list."""
        return super().has_bounds and self.ideal == "judged"

    def _per_query(self, judged: Judged) -> Values:
        pool, depth = IDEALS[self.ideal](judged, self.cutoff)
        if self.unjudged:
            extra = np.repeat(np.arange(len(judged.qids)), judged.unjudged(depth).astype(np.int64))
            pool = pool.enlarged(extra, np.full(len(extra), self.unjudged))
        query, rank, grade = pool.best_order
        top = slice(None) if self.cutoff is None else rank <= self.cutoff
        ideal = pool.total(query[top], FORMS[self.dcg].worth(grade[top], rank[top]))
        return share(super()._per_query(judged), ideal)
