"""The settings of a study, its scales and levels of English, and its errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from rankwell.core import ParameterError, RankwellError

MOST_POINTS = 11


class ScalePoint(NamedTuple):
    """One grade, its name, and a sentence for assessors on when to give it."""

    grade: int
    name: str
    description: str = ""


Scale = tuple[ScalePoint, ...]


def _between(first: int, last: int, lowest: str, highest: str) -> Scale:
    """A scale of which only the ends are named."""
    names = {first: lowest, last: highest}
    return tuple(ScalePoint(grade, names.get(grade, str(grade))) for grade in range(first, last + 1))


# By their number of points. Five: the re-assessment study (1 totally irrelevant, 5 perfectly relevant); four: Sormunen,
# "Liberal relevance criteria of TREC", SIGIR 2002; seven and eleven: Borlund, "The concept of relevance in IR", JASIST
# 2003.
SCALES: dict[int, Scale] = {
    2: (
        ScalePoint(0, "not relevant", "The passage does not help with the query."),
        ScalePoint(1, "relevant", "The passage answers the query, or a part of it."),
    ),
    3: (
        ScalePoint(0, "not relevant", "The passage does not help with the query."),
        ScalePoint(1, "partly relevant", "The passage helps, but leaves something open."),
        ScalePoint(2, "relevant", "The passage answers the query."),
    ),
    4: (
        ScalePoint(0, "irrelevant", "The passage says nothing about the topic."),
        ScalePoint(1, "marginally relevant", "The passage only points to the topic."),
        ScalePoint(2, "fairly relevant", "The passage says more than the query does, but not all that was asked."),
        ScalePoint(3, "highly relevant", "The passage treats the topic thoroughly."),
    ),
    5: (
        ScalePoint(1, "totally irrelevant", "The passage has nothing to do with the query."),
        ScalePoint(2, "slightly relevant", "The passage touches on the topic, but does not answer the query."),
        ScalePoint(3, "relevant", "The passage answers a part of the query."),
        ScalePoint(4, "very relevant", "The passage answers the query, with gaps or beside other matters."),
        ScalePoint(5, "perfectly relevant", "The passage answers the query in full."),
    ),
    7: _between(1, 7, "totally irrelevant", "perfectly relevant"),
    11: _between(0, 10, "totally irrelevant", "perfectly relevant"),
}


class EnglishLevel(NamedTuple):
    """A level, its name, and the CEFR level it belongs to (none for a beginner)."""

    level: int
    name: str
    cefr: str


# The scale of the London School of English, which asks for 1 (beginner) to 9 (very advanced).
ENGLISH_LEVELS = (
    EnglishLevel(1, "Beginner", ""),
    EnglishLevel(2, "Elementary", "A1"),
    EnglishLevel(3, "Pre-intermediate", "A2"),
    EnglishLevel(4, "Low intermediate", "B1"),
    EnglishLevel(5, "Intermediate", "B1"),
    EnglishLevel(6, "Upper intermediate", "B2"),
    EnglishLevel(7, "Pre-advanced", "B2"),
    EnglishLevel(8, "Advanced", "C1"),
    EnglishLevel(9, "Very advanced", "C2"),
)


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

    Every query needs `assessors_per_query` assessors. An assessor gets `sets_at_once` sets of `set_size` queries: the
    first always of begun queries, each other one with probability `exploration` of new ones. Work
    idle for `release_after_days` days is given to others. `open_to_all` lets anyone sign in by e-mail, otherwise
    an invitation is needed. `keep_grades` says whether grades stay, without a name, when a person's data are deleted.
    Where there is a training round, the share `pass_mark` of its questions must be right, in one of `training_tries`.
    Assessors judge the share `rejudge` of their own passages a second time.
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
    pass_mark: float = 0.7
    training_tries: int = 2
    rejudge: float = 0.0

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise ParameterError("title", expected="a title", found=self.title)
        object.__setattr__(self, "scale", tuple(sorted(self.scale)))
        grades = self.grades
        if not 2 <= len(grades) <= MOST_POINTS or len(set(grades)) < len(grades):  # noqa: PLR2004 -- fewer are no scale
            raise ParameterError("scale", expected=f"2 to {MOST_POINTS} different grades", found=list(grades))
        if any(not point.name.strip() for point in self.scale):
            raise ParameterError("scale", expected="a name for every grade", found=list(grades))
        for name in ("assessors_per_query", "set_size", "sets_at_once", "release_after_days", "training_tries"):
            if getattr(self, name) < 1:
                raise ParameterError(name, expected="a number, at least 1", found=getattr(self, name))
        for name in ("pass_mark", "rejudge"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, expected="a share from 0 to 1", found=getattr(self, name))
        if not 0 <= self.exploration <= 1:
            raise ParameterError("exploration", expected="a probability from 0 to 1", found=self.exploration)

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades of the scale, lowest first."""
        return tuple(point.grade for point in self.scale)

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON, for the database."""
        return asdict(self) | {"scale": [list(point) for point in self.scale]}

    @classmethod
    def from_json(cls, settings: dict[str, Any]) -> Self:
        """The settings from the database's JSON."""
        return cls(**settings | {"scale": tuple(ScalePoint(*point) for point in settings["scale"])})


class AssessError(RankwellError):
    """Base of the errors about what an assessor cannot do now."""


class NotThereError(AssessError):
    """No such assessor, query, passage or code, or none that this person may see."""


class PausedError(AssessError):
    """An administrator has paused this assessor."""


class NoConsentError(AssessError):
    """The assessor has not agreed to the study's consent text yet."""


class TooManyAttemptsError(AssessError):
    """Too many attempts to sign in from one place or for one address."""
