"""Discounted cumulative gain (DCG) and its normalised form (nDCG), in three variants of the gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.core.errors import ParameterError
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


def linear(grade: npt.ArrayLike) -> Values:
    """The grade itself."""
    return np.asarray(grade, dtype=np.float64)


def exponential(grade: npt.ArrayLike) -> Values:
    """2^grade - 1: each grade is worth about twice the one below."""
    return np.exp2(linear(grade)) - 1


def from_the_first(rank: npt.ArrayLike) -> Values:
    """log2(i + 1): every rank after the first costs."""
    return np.log2(linear(rank) + 1)


def from_the_third(rank: npt.ArrayLike) -> Values:
    """log2(i), but 1 for the first rank: the first two are worth the same."""
    return np.log2(np.maximum(linear(rank), 2))


FORMS = MappingProxyType(
    {
        "log2": Form(linear, from_the_first),
        "exp-log2": Form(exponential, from_the_first),
        "original": Form(linear, from_the_third),
    }
)


@dataclass(frozen=True, kw_only=True, repr=False)
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

    dcg: str = "log2"
    unjudged: int = 0
    cutoff: int | None = None

    def __post_init__(self) -> None:
        if self.dcg not in FORMS:
            raise ParameterError(f"{self.name}, dcg", expected=" or ".join(map(repr, FORMS)), found=self.dcg)
        super().__post_init__()

    @property
    def has_bounds(self) -> bool:
        """False where `unjudged` gives unjudged documents a grade."""
        return self.unjudged == 0

    @property
    def form(self) -> Form:
        """The gain and discount."""
        return FORMS[self.dcg]

    def per_query(self, judged: Judged) -> Values:
        """The discounted gains of judged and of unjudged documents."""
        seen = judged.within(self.cutoff)
        rank = judged.rank[seen]
        gained = judged.total(seen, self.form.worth(judged.grade[seen], rank))
        if not self.unjudged:
            return gained
        longest = int(judged.returned(self.cutoff).max())
        if_all_were = np.concatenate(([0], np.cumsum(self.form.worth(self.unjudged, np.arange(1, longest + 1)))))
        taken = judged.total(seen, self.form.worth(self.unjudged, rank))
        return gained + if_all_were[judged.returned(self.cutoff).astype(np.int64)] - taken


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
