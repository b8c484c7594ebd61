"""The first relevant document: reciprocal rank (RR), mean rank (MFR), and whether the top k has one (Success)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.evaluation.judged import Judged, Values
from rankwell.evaluation.measures.measure import Measure


@dataclass(frozen=True, kw_only=True, repr=False)
class RR(Measure):
    """Reciprocal rank of the first relevant document; its mean is MRR.

    RR@k = 1 / min{ i <= k : rel(d_i) >= r }, or 0

    (Voorhees, "The TREC-8 question answering track report", 1999; trec_eval's `recip_rank`.)
    """

    name = "RR"

    cutoff: int | None = None
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The largest reciprocal of a relevant hit's rank."""
        found = judged.relevant(self.rel, self.cutoff)
        return judged.highest(found, 1 / judged.rank[found])


@dataclass(frozen=True, kw_only=True, repr=False)
class MFR(Measure):
    """Mean rank of the first relevant document; k + 1 where the top k holds none. Lower is better.

    MFR@k = mean over queries of min{ i <= k : rel(d_i) >= r }, or k + 1

    Unlike the reciprocal rank this is an interval scale, so its mean means something
    (Fuhr, "Some common mistakes in IR evaluation", SIGIR Forum 2018).
    """

    name = "MFR"
    higher_is_better = False

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The smallest rank of a relevant hit."""
        found = judged.relevant(self.rel, self.cutoff)
        first = np.full(len(judged.qids), self.cutoff + 1.0)
        np.minimum.at(first, judged.query[found], judged.rank[found])
        return first


@dataclass(frozen=True, kw_only=True, repr=False)
class Success(Measure):
    """Whether the top k holds a relevant document (some call this recall or hit rate).

    Success@k = 1 if some i <= k has rel(d_i) >= r, else 0

    (trec_eval's `success_k`.)
    """

    name = "Success"

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """1 where there is a relevant hit."""
        return (judged.count(judged.relevant(self.rel, self.cutoff)) > 0).astype(float)
