"""A systematic review: its title, its date, and the studies that its authors looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Study(NamedTuple):
    """A study as a review's list has it. `authors` is the list as one text; what is not known is empty or None."""

    title: str
    year: int | None = None
    authors: str = ""


@dataclass(frozen=True)
class Review:
    """A review with the studies that it included and those that it excluded after a look at them.

    `date` is as exact as is known: 2015, 2015-03 or 2015-03-12, or empty.
    """

    id: str
    title: str
    included: tuple[Study, ...] = ()
    excluded: tuple[Study, ...] = ()
    date: str = ""

    @property
    def studies(self) -> list[tuple[Study, int]]:
        """Every study with its label: 1 for an included one, 0 for an excluded one."""
        return [*((study, 1) for study in self.included), *((study, 0) for study in self.excluded)]
