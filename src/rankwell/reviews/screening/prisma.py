"""Agreement of two reviewers, and the counts of a PRISMA 2020 flow diagram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rankwell.reviews.screening.decisions import Answer, Outcome

NO_REASON = "no reason given"


@dataclass(frozen=True)
class Prisma:
    """Counts of identified, excluded and included records (Page et al., "The PRISMA 2020 statement", BMJ 2021;372:n71).

    identified = duplicates + screened + not_screened
    screened   = included + excluded + maybe + conflicts
    """

    sources: Mapping[str, int]
    duplicates: int
    screened: int
    excluded: Mapping[str, int]
    included: int
    maybe: int
    conflicts: int

    @property
    def identified(self) -> int:
        """Number of records of all sources."""
        return sum(self.sources.values())

    @property
    def excluded_in_all(self) -> int:
        """Number of excluded records."""
        return sum(self.excluded.values())

    @property
    def not_screened(self) -> int:
        """Number of records that not every reviewer has decided yet."""
        return self.identified - self.duplicates - self.screened

    def to_dict(self) -> dict[str, Any]:
        """The counts and their totals for JSON."""
        totals = {"identified": self.identified, "not_screened": self.not_screened}
        return {**asdict(self), **totals, "excluded_in_all": self.excluded_in_all}


def prisma_counts(sources: Iterable[tuple[str, int]], duplicates: int, outcomes: Iterable[Outcome]) -> Prisma:
    """Count the records. Two files with the same name are counted together."""
    read: Counter[str] = Counter()
    for name, records in sources:
        read[name] += records
    answers: Counter[Answer | None] = Counter()
    reasons: Counter[str] = Counter()
    for outcome in outcomes:
        answers[outcome.answer] += 1
        if outcome.answer is Answer.EXCLUDE:
            reasons[outcome.reason or NO_REASON] += 1
    return Prisma(
        sources=dict(read),
        duplicates=duplicates,
        screened=answers.total(),
        excluded=dict(reasons.most_common()),
        included=answers[Answer.INCLUDE],
        maybe=answers[Answer.MAYBE],
        conflicts=answers[None],
    )


class Agreement(NamedTuple):
    """The share of equal answers, and Cohen's kappa (None where both gave the same answer to all records)."""

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
