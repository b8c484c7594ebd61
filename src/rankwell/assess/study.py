"""What a study asks of its assessors, and under which rules."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from rankwell.assess.scales import SCALES, Scale, ScalePoint, check_scale
from rankwell.core import ParameterError

GUIDELINES = """\
Read the query, then each passage on its own: what an earlier passage said does not count for or against this one.

Judge what the passage says about the query, not how well it is written. Choose "I can't tell" where you do not
understand the query or the passage.
"""
CONSENT = """\
Your grades, your notes, the time you take for a passage and the level of English you state are stored under a random
name and used for research. If you sign in by e-mail, your address is kept apart from your grades and never published.
You can stop at any moment and have your data deleted.
"""


@dataclass(frozen=True)
class Study:
    """The settings of a study; `guidelines` and `consent` are Markdown.

    Every query wants `assessors_per_query` assessors. An assessor gets `sets_at_once` sets of `set_size` queries: the
    first always of queries that others have begun, each other one with probability `exploration` of new ones. Work
    left lying for `release_after_days` days is given to others. `open_to_all` lets anyone sign in by e-mail, otherwise
    an invitation is needed. `keep_grades` says whether grades stay, without a name, when a person's data are deleted.
    """

    title: str
    scale: Scale = SCALES[5]
    guidelines: str = GUIDELINES
    consent: str = CONSENT
    assessors_per_query: int = 3
    set_size: int = 3
    sets_at_once: int = 2
    exploration: float = 0.5
    release_after_days: int = 14
    mark_terms: bool = False
    ask_english: bool = True
    open_to_all: bool = False
    keep_grades: bool = True

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise ParameterError("title", expected="a title", found=self.title)
        object.__setattr__(self, "scale", check_scale(self.scale))
        for name in ("assessors_per_query", "set_size", "sets_at_once", "release_after_days"):
            if getattr(self, name) < 1:
                raise ParameterError(name, expected="a number, at least 1", found=getattr(self, name))
        if not 0 <= self.exploration <= 1:
            raise ParameterError("exploration", expected="a probability from 0 to 1", found=self.exploration)

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades of the scale, lowest first."""
        return tuple(point.grade for point in self.scale)

    def to_json(self) -> dict[str, Any]:
        """The settings as the database keeps them."""
        return asdict(self) | {"scale": [list(point) for point in self.scale]}

    @classmethod
    def from_json(cls, settings: dict[str, Any]) -> Self:
        """The settings as the database has them."""
        return cls(**settings | {"scale": tuple(ScalePoint(*point) for point in settings["scale"])})
