"""The ceiled median: one grade from several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

from rankwell.assess.panels import Answers
from rankwell.core import ParameterError


def ceiled_median(grades: Sequence[int]) -> int:
    """The middle grade, or the mean of the two middle ones, rounded up."""
    if not grades:
        raise ParameterError("grades", expected="at least one grade", found=list(grades))
    ordered = sorted(grades)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return -(-(low + high) // 2)


def lowest_in_doubt(answers: Answers, lowest: int) -> int:
    """S1's rule: the ceiled median, or the lowest grade of the scale where a missing answer leaves people in doubt.

    They are in doubt where an even number of grades is left and these are not all the same. Of three assessors whose
    third said nothing, 4 and 4 make a 4, and 4 and 5 make a 1.
    """
    left = answers.grades
    in_doubt = answers.missing > 0 and len(left) % 2 == 0 and len(set(left)) > 1
    return lowest if in_doubt else ceiled_median(left)


def median_of_the_rest(answers: Answers, lowest: int) -> int:  # noqa: ARG001 -- as the other rule
    """The ceiled median of the answers that there are, whether one is missing or not."""
    return ceiled_median(answers.grades)


MISSING_RULES: MappingProxyType[str, Callable[[Answers, int], int]] = MappingProxyType(
    {"lowest": lowest_in_doubt, "median": median_of_the_rest}
)


def graded_label(answers: Answers, lowest: int, missing: str = "lowest") -> int | None:
    """One grade for a passage by a rule of `MISSING_RULES`; None where nobody gave one."""
    if missing not in MISSING_RULES:
        raise ParameterError("missing", expected=" or ".join(MISSING_RULES), found=missing)
    return MISSING_RULES[missing](answers, lowest) if answers.grades else None
