"""Majority vote: whether a passage is relevant, when several people were asked."""

from __future__ import annotations

from collections.abc import Sequence

from rankwell.assess.panels import Answers


def vote(grades: Sequence[int], threshold: int) -> bool | None:
    """What more than half say: whether the grade reaches the threshold. None where the votes tie, or nobody voted."""
    for_it = sum(grade >= threshold for grade in grades)
    against = len(grades) - for_it
    return None if for_it == against else for_it > against


def majority(answers: Answers, threshold: int, original: bool | None = None) -> bool | None:
    """The binary label of a passage: relevant where more than half of the given grades reach the threshold.

    Missing answers are ignored. Where the votes tie, the original label stands, and a passage that had none is not
    relevant, since no more than half called it so. None, no label at all, where neither an answer nor an original
    label is known.
    """
    decided = vote(answers.grades, threshold)
    if decided is not None:
        return decided
    return False if original is None and answers.grades else original
