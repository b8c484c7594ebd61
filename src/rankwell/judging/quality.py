"""The watch over assessors: gold questions, time and agreement, and a word to the administrator where one stands out.

A gold question is a passage of the pool whose right grade is known. Assessors grade it like any other and are not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import NamedTuple

from rankwell.core import Judgments
from rankwell.judging.agreement import Assessor, assessors
from rankwell.judging.grades import Grades

FEWEST_GOLD = 5  # answers to gold questions before they say anything
LEAST_RIGHT = 0.6
FEWEST = 10  # answers before their time and agreement say anything
MUCH_FASTER = 4  # times the others
MUCH_LESS = 0.25  # below the others' share of agreement
FINE_SCALE = 4  # on a scale of so many grades, one step beside the gold grade is still right


class GoldScore(NamedTuple):
    """An assessor's answers to gold questions, and how many were right; "I can't tell" is not."""

    answered: int = 0
    right: int = 0


class Remark(NamedTuple):
    """A sentence to the administrator about an assessor."""

    assessor: str
    told: str


@dataclass(frozen=True)
class Watch:
    """Each assessor's score on gold questions, and remarks on those who stand out."""

    gold: Mapping[str, GoldScore]
    remarks: tuple[Remark, ...]
    again: Mapping[str, GoldScore] = field(default_factory=dict)  # agreement with oneself


def watch(grades: Grades, gold: Judgments, scale: tuple[int, ...], thresholds: Mapping[str, int]) -> Watch:
    """Compare every assessor with the gold grades and with the others."""
    scores = gold_scores(grades, gold, scale)
    people = assessors(grades, thresholds)
    seconds: dict[str, list[float]] = {}
    for row in grades.rows():
        if row.seconds is not None:
            seconds.setdefault(row.assessor, []).append(row.seconds)
    told = [
        Remark(one.id, sentence)
        for one in people
        for sentence in (
            *_on_gold(scores.get(one.id, GoldScore())),
            *_on_time(one.id, seconds),
            *_on_accord(one, people),
        )
    ]
    return Watch(scores, tuple(told))


def gold_scores(grades: Grades, gold: Judgments, scale: tuple[int, ...]) -> dict[str, GoldScore]:
    """Each assessor's score (`is_right`)."""
    scores: dict[str, GoldScore] = {}
    for row in grades.rows():
        known = gold.get(row.qid, {}).get(row.docno)
        if known is not None:
            before = scores.get(row.assessor, GoldScore())
            scores[row.assessor] = GoldScore(before.answered + 1, before.right + is_right(row.grade, known, scale))
    return scores


def is_right(grade: int | None, known: int, scale: tuple[int, ...]) -> bool:
    """Whether a grade is the known one; on a scale of four or more grades also one step beside it."""
    if grade is None or grade not in scale or known not in scale:
        return grade == known
    return abs(scale.index(grade) - scale.index(known)) <= (1 if len(scale) >= FINE_SCALE else 0)


def _on_gold(score: GoldScore) -> Iterator[str]:
    if score.answered >= FEWEST_GOLD and score.right < LEAST_RIGHT * score.answered:
        yield f"{score.right} of {score.answered} gold questions are right"


def _on_time(name: str, seconds: Mapping[str, list[float]]) -> Iterator[str]:
    own = seconds.get(name, [])
    others = [second for other, of in seconds.items() if other != name for second in of]
    if len(own) >= FEWEST and len(others) >= FEWEST and median(own) * MUCH_FASTER < median(others):
        yield f"a passage takes {median(own):.1f} seconds (median), the others {median(others):.1f}"


def _on_accord(one: Assessor, people: list[Assessor]) -> Iterator[str]:
    for name, accord in one.accord.items():
        others = [
            of.accord[name].share
            for of in people
            if of.id != one.id and of.accord[name].compared >= FEWEST and of.accord[name].share is not None
        ]
        usual = fmean(share for share in others if share is not None) if others else None
        if usual is None or accord.share is None or accord.compared < FEWEST:
            continue
        if accord.share < usual - MUCH_LESS:
            others_do = f"the others on {usual:.0%}"
            yield f"agrees with the majority of the others on {accord.share:.0%} of passages ({name}), {others_do}"
            return
