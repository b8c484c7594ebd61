"""When to stop: a suggestion, with what it assumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase


@dataclass(frozen=True)
class Stopping:
    """What the last decisions say about the records that are left."""

    stop: bool
    barren: int  # decisions since the last inclusion
    probability: float  # of so many exclusions in a row, if more than the allowed share were still missing
    recall: float
    assumption: str


def suggest_stopping(decisions: Sequence[bool], total: int, recall: float = 0.95, alpha: float = 0.05) -> Stopping:
    """Whether it is unlikely that less than `recall` of all relevant records has been found.

    With r included so far, recall is below the target only if at least m = floor(r / recall - r) + 1 relevant records
    are left. Were the records since the last inclusion drawn at random from those that were left then, n records
    without one of the m would have the hypergeometric probability

    C(L - m, n) / C(L, n),     L = records left after the last inclusion

    Looking at the most promising records first makes such a run of exclusions less likely still, so the suggestion is
    careful as long as the ranking is no worse than chance: that is its assumption, and no proof. Asking after every
    decision, as a reviewer does, gives chance more than one chance. (After Callaghan and Müller-Hansen, "Statistical
    stopping criteria for automated screening in systematic reviews", Systematic Reviews 2020.)
    """
    for name, share in (("recall", recall), ("alpha", alpha)):
        if not 0 < share < 1:
            raise ParameterError(name, expected="a number between 0 and 1", found=share)
    if len(decisions) > total:
        raise ParameterError("decisions", expected=f"at most {total:,}", found=Phrase(f"{len(decisions):,}"))
    included = sum(decisions)
    last = max((place for place, answer in enumerate(decisions) if answer), default=-1)
    barren = len(decisions) - last - 1
    left = total - last - 1
    missing = math.floor(included / recall - included + 1e-9) + 1  # 19 / 0.95 is not exactly 20
    chance = _none_of(missing, left, barren)
    assumption = (
        f"if the {barren:,} records since the last inclusion are no worse than a random sample of the rest, a recall "
        f"below {recall:.0%} has a probability of {chance:.3f}"
    )
    return Stopping(chance < alpha, barren, chance, recall, assumption)


def _none_of(missing: int, left: int, drawn: int) -> float:
    """The probability that none of the missing is among the drawn; 0 where so many cannot be missing any more.

    C(L - m, n) / C(L, n) = product over i < m of (L - n - i) / (L - i), which has few factors.
    """
    if missing > left - drawn:
        return 0.0
    return math.prod((left - drawn - place) / (left - place) for place in range(missing))
