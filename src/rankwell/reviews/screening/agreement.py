"""How far two reviewers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Agreement(NamedTuple):
    """The share of equal answers, and Cohen's kappa (None where both gave one answer only, for all records)."""

    records: int
    share: float
    kappa: float | None


def agreement(pairs: Sequence[tuple[str, str]]) -> Agreement | None:
    """Agreement over records that both have answered; None where there are none.

    kappa = (p_o - p_e) / (1 - p_e),  p_e = sum over answers of the product of both reviewers' shares of it

    Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 1960.
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(one == other for one, other in pairs) / total
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = sum(first[answer] * second[answer] for answer in first) / total**2
    return Agreement(total, observed, None if expected == 1 else (observed - expected) / (1 - expected))
