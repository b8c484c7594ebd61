"""Scales of relevance: their grades, and what each means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rankwell.core import ParameterError

MOST_POINTS = 11


class ScalePoint(NamedTuple):
    """One grade, its name, and a sentence that tells an assessor when to give it."""

    grade: int
    name: str
    description: str = ""


Scale = tuple[ScalePoint, ...]


def _between(first: int, last: int, lowest: str, highest: str) -> Scale:
    """A scale of which only the ends are named."""
    names = {first: lowest, last: highest}
    return tuple(ScalePoint(grade, names.get(grade, str(grade))) for grade in range(first, last + 1))


# By their number of points. Five are the thesis's (1 totally irrelevant, 5 perfectly relevant); four are those of
# Sormunen, "Liberal relevance criteria of TREC", SIGIR 2002; seven and eleven are in Borlund, "The concept of
# relevance in IR", JASIST 2003.
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


def check_scale(points: Iterable[ScalePoint], name: str = "scale") -> Scale:
    """The points, lowest grade first; an error where they are no scale."""
    scale = tuple(sorted(points))
    grades = [point.grade for point in scale]
    if not 2 <= len(scale) <= MOST_POINTS or len(set(grades)) < len(grades):  # noqa: PLR2004 -- fewer are no scale
        raise ParameterError(name, expected=f"2 to {MOST_POINTS} different grades", found=grades)
    if any(not point.name.strip() for point in scale):
        raise ParameterError(name, expected="a name for every grade", found=grades)
    return scale
