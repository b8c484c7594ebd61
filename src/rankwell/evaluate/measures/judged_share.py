"""How much of the top k somebody judged."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgedShare(Measure):
    """The share of the top k that has a judgment, whatever its grade; of the returned documents where they are fewer.

    Judged@k = judged documents in the top k / min(k, returned)

    (ir-measures' `Judged`.) Where it is low, the other measures say more about the judgments than about the run.
    """

    name = "Judged"
    effect = Effect.NONE

    cutoff: int | None = None

    def per_query(self, judged: Judged) -> Values:
        """Hits over returned documents."""
        return share(judged.count(judged.within(self.cutoff)), judged.returned(self.cutoff))
