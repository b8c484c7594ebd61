"""Set F: precision and recall of all that was returned, in one number."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core.errors import ParameterError
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class SetF(Measure):
    """Weighted harmonic mean of set precision and set recall; 1 is the usual F1.

    SetF = (1 + beta) * P * R / (beta * P + R)

    trec_eval's `set_F`, where the weight is not squared as it is in van Rijsbergen's F-beta.
    """

    name = "SetF"

    beta: float = 1.0
    rel: int = 1

    def __post_init__(self) -> None:
        if not self.beta > 0:
            raise ParameterError("SetF, beta", expected="a number above 0", found=self.beta)
        super().__post_init__()

    def per_query(self, judged: Judged) -> Values:
        """The mean, as one fraction."""
        found = judged.count(judged.relevant(self.rel))
        whole = self.beta * judged.pool.relevant(self.rel) + judged.returned(None)
        return share((1 + self.beta) * found, whole)
