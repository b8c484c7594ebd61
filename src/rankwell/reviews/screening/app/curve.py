"""The picture of how inclusions came in, as the numbers of an SVG; the style sheet gives it its colours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

LEFT, RIGHT, TOP, BOTTOM = 34.0, 310.0, 12.0, 132.0
MOST_POINTS = 240


class Curve(NamedTuple):
    """A line in a box from (LEFT, BOTTOM) to (RIGHT, TOP), and what its ends stand for."""

    looked: int
    found: int
    path: str


def curve_of(kept: Sequence[bool]) -> Curve:
    """Inclusions so far, after each record that was looked at; long lines are drawn with fewer points."""
    heights = [0, *accumulate(map(int, kept))]
    looked, found = len(kept), heights[-1]
    step = max(1, looked // MOST_POINTS)
    places = [*range(0, looked, step), looked]
    across = (RIGHT - LEFT) / max(looked, 1)
    up = (BOTTOM - TOP) / max(found, 1)
    points = [f"{LEFT + place * across:.1f} {BOTTOM - heights[place] * up:.1f}" for place in places]
    return Curve(looked, found, "M" + " L".join(points))
