"""How far a reviewer is: what is decided, what comes next, how the inclusions came, and whether to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from rankwell.reviews.screening.answers import Answer
from rankwell.reviews.screening.app.curve import Curve, curve_of
from rankwell.reviews.screening.app.site import Site
from rankwell.reviews.screening.ranking import Order
from rankwell.reviews.screening.stopping import Stopping, suggest_stopping
from rankwell.reviews.screening.store_decisions import Decision


@dataclass(frozen=True)
class Standing:
    """One reviewer's work at this moment; `decisions` are in the order in which the records were looked at."""

    decisions: Mapping[int, Decision]
    aside: frozenset[int]
    order: Order

    @cached_property
    def waiting(self) -> list[int]:
        """What is not decided, most promising first."""
        done = self.decisions
        return [record for record in self.order.records if record not in done and record not in self.aside]

    def beginning_with(self, record: int) -> Self:
        """The same with a record as the next one: it was just taken back, whatever the ranking has learnt meanwhile."""
        records = (record, *(other for other in self.order.records if other != record))
        return replace(self, order=self.order._replace(records=records))

    @property
    def total(self) -> int:
        """Records to screen, without duplicates."""
        return len(self.waiting) + len(self.decisions)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How often each answer was given."""
        found = Counter(decision.answer.value for decision in self.decisions.values())
        return {answer.value: found[answer.value] for answer in Answer}

    @cached_property
    def kept(self) -> list[bool]:
        """For each record that was looked at, whether it stays: a maybe does, lest we stop too soon."""
        return [decision.answer is not Answer.EXCLUDE for decision in self.decisions.values()]

    @cached_property
    def curve(self) -> Curve:
        """Inclusions against records looked at."""
        return curve_of(self.kept)

    @cached_property
    def stopping(self) -> Stopping:
        """Whether to stop, and what that assumes."""
        return suggest_stopping(self.kept, self.total)

    def neighbours(self, record: int) -> tuple[int | None, int | None]:
        """The records before and after one: what was decided, in that order, then what waits."""
        line = [*self.decisions, *self.waiting]
        place = line.index(record)
        before = line[place - 1] if place else None
        return before, line[place + 1] if place + 1 < len(line) else None


def standing_of(site: Site, reviewer: int) -> Standing:
    """As it is now."""
    project = site.project
    return Standing(project.decisions.of(reviewer), project.duplicates.set_aside(), site.ranking.order(reviewer))
