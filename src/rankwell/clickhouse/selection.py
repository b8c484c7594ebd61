"""Documents as a condition: what a mask is for an index in memory, for one that nobody holds in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankwell.clickhouse.literals import Sql, joined, sql

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex

EVERYTHING, NOTHING = Sql("1"), Sql("0")


@dataclass(frozen=True, eq=False)
class Selection:
    """The documents of an index for which a condition on their number holds; nothing is asked before it must be.

    `&`, `|` and `~` work as on masks, and so do `sum`, `any` and `copy`.
    """

    condition: Sql
    index: ClickHouseIndex = field(repr=False)

    def __and__(self, other: Selection) -> Selection:
        return Selection(joined("AND", [self.condition, other.condition]), self.index)

    def __or__(self, other: Selection) -> Selection:
        return Selection(joined("OR", [self.condition, other.condition]), self.index)

    def __invert__(self) -> Selection:
        return Selection(sql("NOT ({condition})", condition=self.condition), self.index)

    def sum(self) -> int:
        """How many documents there are."""
        return self.index.count(self)

    def any(self) -> bool:
        """Whether there is one."""
        return self.sum() > 0

    def copy(self) -> Selection:
        """Itself: a condition never changes."""
        return self

    def fingerprint(self) -> str:
        """The condition, on this commit."""
        return f"{self.index.fingerprint()}:{self.condition}"
