"""Discounted cumulative gain: the grades of a list, each worth less the later it comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.gains import FORMS, Form
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values


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
        """Not where the measure has a grade for unjudged documents itself."""
        return self.unjudged == 0

    @property
    def form(self) -> Form:
        """The gain and discount."""
        return FORMS[self.dcg]

    def per_query(self, judged: Judged) -> Values:
        """What the judged documents are worth, and what the unjudged ones are."""
        seen = judged.within(self.cutoff)
        rank = judged.rank[seen]
        gained = judged.total(seen, self.form.worth(judged.grade[seen], rank))
        if not self.unjudged:
            return gained
        longest = int(judged.returned(self.cutoff).max())
        if_all_were = np.concatenate(([0], np.cumsum(self.form.worth(self.unjudged, np.arange(1, longest + 1)))))
        taken = judged.total(seen, self.form.worth(self.unjudged, rank))
        return gained + if_all_were[judged.returned(self.cutoff).astype(np.int64)] - taken
