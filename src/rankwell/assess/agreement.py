"""How far the assessors of a study agree: all measures of it, on the grades and on what they come to as labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rankwell.assess.assessors import Assessor, Quartiles, assessors, time_per_passage
from rankwell.assess.fleiss import fleiss_kappa
from rankwell.assess.grades import Grades
from rankwell.assess.krippendorff import alpha_interval, krippendorff_alpha
from rankwell.assess.ratings import Ratings, count_ratings

GRADE_LEVELS = ("nominal", "ordinal", "interval")
VOTE_LEVELS = ("nominal",)  # of two values all levels are the same


@dataclass(frozen=True)
class AgreementFigure:
    """One measure: 1 is perfect agreement, 0 what chance would give; not a number where it cannot be told.

    `low` and `high` bound it with 95 % confidence (alpha only).
    """

    about: str
    measure: str
    value: float
    low: float | None
    high: float | None
    passages: int  # with at least two grades
    grades: int  # on those


@dataclass(frozen=True)
class Agreement:
    """The figures, the assessors one by one, and the seconds that an answer took."""

    figures: tuple[AgreementFigure, ...]
    assessors: tuple[Assessor, ...]
    seconds: Quartiles | None

    def warnings(self) -> Iterator[str]:
        """What a reader should know before believing the figures."""
        if not any(figure.passages for figure in self.figures):
            yield "no passage was graded by two people: there is nothing to compare"
        else:
            for about in dict.fromkeys(figure.about for figure in self.figures if math.isnan(figure.value)):
                yield f"{about}: all of them are equal, so that agreement cannot be told from chance"


def measure_agreement(grades: Grades, thresholds: Mapping[str, int], *, seed: int = 0) -> Agreement:
    """Fleiss' kappa and Krippendorff's alpha of the grades, and of the votes "relevant" or not at each threshold."""
    figures = [*_figures("grades", count_ratings(grades), GRADE_LEVELS, seed)]
    for name, threshold in thresholds.items():
        figures += _figures(f"{name} (at least {threshold})", count_ratings(grades, threshold), VOTE_LEVELS, seed)
    return Agreement(tuple(figures), tuple(assessors(grades, thresholds)), time_per_passage(grades))


def _figures(about: str, counted: Ratings, levels: tuple[str, ...], seed: int) -> Iterator[AgreementFigure]:
    pairable = counted.pairable
    support = int(pairable.sum()), int(counted.counts[pairable].sum())
    yield AgreementFigure(about, "Fleiss' kappa", fleiss_kappa(counted.counts), None, None, *support)
    for level in levels:
        low, high = alpha_interval(counted, level, seed=seed) or (None, None)
        alpha = krippendorff_alpha(counted, level)
        yield AgreementFigure(about, f"Krippendorff's alpha, {level}", alpha, low, high, *support)
