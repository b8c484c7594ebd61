"""Which key gives which grade."""

from __future__ import annotations

from collections.abc import Iterable

TEN = "t"


def grade_keys(grades: Iterable[int]) -> dict[int, str]:
    """A grade's own digit, and t for ten (of the scale with eleven points); others are reached by the arrows."""
    keys = {**{digit: str(digit) for digit in range(10)}, 10: TEN}
    return {grade: keys[grade] for grade in grades if grade in keys}


def only_ends_named(names: Iterable[tuple[int, str]]) -> bool:
    """Whether a scale names its first and last grade alone: these names stand beside the grades then, not on them."""
    first, *between, last = [name != str(grade) for grade, name in names]
    return first and last and bool(between) and not any(between)
