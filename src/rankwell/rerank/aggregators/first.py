"""FirstP: how a document begins."""

from __future__ import annotations

from rankwell.core.arrays import Integers
from rankwell.core.scales import Values
from rankwell.rerank.aggregators.aggregator import Aggregator


class First(Aggregator):
    """score(d) = score(p_1); the other passages are not even scored.

    Dai and Callan, "Deeper text understanding for IR with contextual neural language modeling", SIGIR 2019.
    """

    name = "first"
    enough = 1

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The first passage's score."""
        return scores[starts]
