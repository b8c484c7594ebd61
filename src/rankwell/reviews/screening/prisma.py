"""The counts of a PRISMA 2020 flow diagram, as far as screening titles and abstracts goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rankwell.reviews.screening.answers import Answer
from rankwell.reviews.screening.store_outcomes import Outcome

NO_REASON = "no reason given"


@dataclass(frozen=True)
class Prisma:
    """How many records came in, went out and stayed (Page et al., "The PRISMA 2020 statement", BMJ 2021;372:n71).

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
        """Records of all sources."""
        return sum(self.sources.values())

    @property
    def excluded_in_all(self) -> int:
        """Excluded records, whatever the reason."""
        return sum(self.excluded.values())

    @property
    def not_screened(self) -> int:
        """Records that not every reviewer has decided yet."""
        return self.identified - self.duplicates - self.screened

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        totals = {"identified": self.identified, "not_screened": self.not_screened}
        return {**asdict(self), **totals, "excluded_in_all": self.excluded_in_all}


def prisma_counts(sources: Iterable[tuple[str, int]], duplicates: int, outcomes: Iterable[Outcome]) -> Prisma:
    """Count. Two files with one name are counted together."""
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
