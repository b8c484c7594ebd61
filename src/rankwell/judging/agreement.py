"""Agreement of assessors (Fleiss' kappa, Krippendorff's alpha), and each assessor's work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.evaluation.significance import Interval
from rankwell.judging.grades import GivenGrade, Grades
from rankwell.judging.labels import vote


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Kappa from a table with a row for each passage, a column for each category, and the number of people in it.

    kappa = (P - E) / (1 - E)
    P     = mean over passages with n_i >= 2 grades of sum_j n_ij (n_ij - 1) / (n_i (n_i - 1))
    E     = sum_j p_j^2, p_j = mean over passages of n_ij / n_i

    Fleiss (1971), "Measuring nominal scale agreement among many raters", has the same number of people at every
    passage. Where it varies, as here, this is Gwet's generalisation ("Handbook of inter-rater reliability", 4th
    edition, 2014, chapter 2): every passage weighs the same however many people graded it, and one with a single grade
    counts for chance (E) only. For equal numbers it is Fleiss' own.

    NaN where all grades are of one category, because chance would agree too, and where no passage has
    two grades.
    """
    table = np.asarray(counts, dtype=np.float64)
    graded = table.sum(axis=1)
    table, graded = table[graded > 0], graded[graded > 0]
    several = graded > 1
    if not several.any():
        return math.nan
    pairs = graded[several] * (graded[several] - 1)
    agreed = ((table * (table - 1)).sum(axis=1)[several] / pairs).mean()
    by_chance = float(((table / graded[:, None]).mean(axis=0) ** 2).sum())
    return float((agreed - by_chance) / (1 - by_chance)) if (table > 0).any(axis=0).sum() > 1 else math.nan


Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ratings:
    """One row for each passage of a query that somebody graded, one column for each value that was given.

    Which assessor gave which grade does not matter to the measures that are made of this. `query` is the number of
    the row's query; rows of a query stand together.
    """

    values: tuple[int, ...]
    counts: Matrix
    query: npt.NDArray[np.int64]

    @property
    def pairable(self) -> npt.NDArray[np.bool_]:
        """Which passages have at least two grades; agreement is undefined on the others."""
        return np.asarray(self.counts.sum(axis=1) > 1)


def count_ratings(grades: Grades, threshold: int | None = None) -> Ratings:
    """Count the grades; with a threshold, the votes "relevant" (1) and "not" (0). Missing answers are left out."""
    given = [
        (row.qid, row.docno, row.grade if threshold is None else int(row.grade >= threshold))
        for row in grades.rows()
        if row.grade is not None
    ]
    values = sorted({value for _, _, value in given})
    places = {value: place for place, value in enumerate(values)}
    passages = dict.fromkeys((qid, docno) for qid, docno, _ in given)
    queries = {qid: number for number, qid in enumerate(dict.fromkeys(qid for qid, _ in passages))}
    ordered = sorted(passages, key=lambda passage: queries[passage[0]])
    rows = {passage: number for number, passage in enumerate(ordered)}
    counts = np.zeros((len(rows), len(values)))
    if given:
        np.add.at(counts, tuple(np.array([(rows[q, d], places[value]) for q, d, value in given]).T), 1)
    return Ratings(tuple(values), counts, np.array([queries[qid] for qid, _ in ordered], dtype=np.int64))


SAMPLES = 2000


def krippendorff_alpha(ratings: Ratings, level: str = "nominal") -> float:
    """Alpha = 1 - observed disagreement / disagreement expected by chance.

    Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), over the coincidence matrix: the pairs of
    grades of one passage, each passage's pairs weighted by 1 / (its grades - 1). A passage with one grade has
    no pair and does not count.

        alpha = 1 - (n - 1) * sum_ck o_ck d(c, k) / sum_ck n_c n_k d(c, k)

    `level` says how far apart two grades are (`DISTANCES`): nominal, any two as far as any other; ordinal, by the
    number of grades given in between; interval, by their squared difference.

    NaN where all paired grades are equal, because chance would agree too, and where there is no pair.
    """
    if level not in DISTANCES:
        raise ParameterError("level", expected=" or ".join(DISTANCES), found=level)
    return float(_alpha(_coincidences(ratings.counts), ratings.values, level))


def alpha_interval(
    ratings: Ratings, level: str = "nominal", *, confidence: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> Interval | None:
    """Bootstrap percentile interval of alpha, over queries; None for fewer than two queries with comparable grades.

    Queries are drawn, not passages: the grades of one query's passages depend on each other, and an interval which
    takes them for independent would be too narrow. Samples in which all grades are equal have no alpha and are left
    out.
    """
    at = np.flatnonzero(np.diff(ratings.query, prepend=-1))
    tables = np.array([_coincidences(part) for part in np.split(ratings.counts, at[1:])])
    tables = tables[tables.sum(axis=(1, 2)) > 0] if len(at) else tables
    if len(tables) < 2:  # noqa: PLR2004 -- one query has no spread
        return None
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=samples)
    alphas = _alpha(np.tensordot(drawn.astype(np.float64), tables, axes=1), ratings.values, level)
    alphas = alphas[np.isfinite(alphas)]
    if not len(alphas):
        return None
    low, high = np.quantile(alphas, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _coincidences(counts: Matrix) -> Matrix:
    """Coincidence matrix: o_ck = sum over passages of n_c (n_k - [c = k]) / (n - 1)."""
    graded = counts.sum(axis=1)
    counts, graded = counts[graded > 1], graded[graded > 1]
    weighted = counts / (graded[:, None] - 1)
    return np.asarray(weighted.T @ counts - np.diag(weighted.sum(axis=0)))


def _alpha(coincidences: Matrix, values: Sequence[int], level: str) -> Matrix:
    """Alpha of one coincidence matrix, or of many at once (the last two axes are a matrix)."""
    totals = coincidences.sum(axis=-1)
    distances = DISTANCES[level](totals, np.asarray(values, dtype=np.float64))
    observed = (coincidences * distances).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * distances).sum(axis=(-2, -1))
    differ = (totals > 0).sum(axis=-1) > 1
    share = (totals.sum(axis=-1) - 1) * observed / np.where(differ, expected, 1.0)
    return np.where(differ, 1 - share, np.nan)


def _squared(places: Matrix) -> Matrix:
    return np.asarray((places[..., :, None] - places[..., None, :]) ** 2)


DISTANCES: MappingProxyType[str, Callable[[Matrix, Matrix], Matrix]] = MappingProxyType(
    {
        "nominal": lambda _totals, values: 1 - np.eye(len(values)),
        # n_c / 2 + all between + n_k / 2 is the distance of the values' mean ranks.
        "ordinal": lambda totals, _values: _squared(np.cumsum(totals, axis=-1) - totals / 2),
        "interval": lambda _totals, values: _squared(values),
    }
)


class Quartiles(NamedTuple):
    """The first quartile, the median and the third quartile."""

    low: float
    median: float
    high: float


class Accord(NamedTuple):
    """Number of passages where the others had a majority, and on what share of them the assessor agreed with it."""

    compared: int
    share: float | None  # None where there was nothing to compare


@dataclass(frozen=True)
class Assessor:
    """One assessor's work. `lean` is how much higher than the others' mean they grade, on average."""

    id: str
    english: int | None
    queries: int
    graded: int
    cannot_tell: int
    accord: Mapping[str, Accord]  # by the name of the threshold
    lean: float | None
    seconds: Quartiles | None


def assessors(grades: Grades, thresholds: Mapping[str, int]) -> list[Assessor]:
    """All assessors, those with the most grades first.

    The majority is that of the others: a vote that helped to make the majority would agree with itself. Passages on
    which the others tie, or which nobody else graded, are left out.
    """
    by_passage: dict[tuple[str, str], dict[str, int]] = {}
    by_assessor: dict[str, list[GivenGrade]] = {}
    for row in grades.rows():
        by_assessor.setdefault(row.assessor, []).append(row)
        if row.grade is not None:
            by_passage.setdefault((row.qid, row.docno), {})[row.assessor] = row.grade
    everyone = []
    for name, rows in by_assessor.items():
        beside = [  # own grade, and the others'
            (row.grade, tuple(grade for other, grade in by_passage[row.qid, row.docno].items() if other != name))
            for row in rows
            if row.grade is not None
        ]
        shared = [(own, others) for own, others in beside if others]
        assessor = Assessor(
            id=name,
            english=next((row.english for row in rows if row.english is not None), None),
            queries=len({row.qid for row in rows}),
            graded=len(beside),
            cannot_tell=len(rows) - len(beside),
            accord={called: _accord(shared, threshold) for called, threshold in thresholds.items()},
            lean=fmean(own - fmean(others) for own, others in shared) if shared else None,
            seconds=_quartiles([row.seconds for row in rows if row.seconds is not None]),
        )
        everyone.append(assessor)
    return sorted(everyone, key=lambda assessor: (-assessor.graded, assessor.id))


def time_per_passage(grades: Grades) -> Quartiles | None:
    """Quartiles of the seconds per answer; None where no time is known."""
    return _quartiles([seconds for seconds in grades.seconds if seconds is not None])


def _accord(shared: Sequence[tuple[int, tuple[int, ...]]], threshold: int) -> Accord:
    votes = ((own, vote(others, threshold)) for own, others in shared)
    sides = [(own >= threshold) == for_it for own, for_it in votes if for_it is not None]
    return Accord(len(sides), sum(sides) / len(sides) if sides else None)


def _quartiles(values: Sequence[float]) -> Quartiles | None:
    return Quartiles(*np.quantile(values, [0.25, 0.5, 0.75]).tolist()) if values else None


GRADE_LEVELS = ("nominal", "ordinal", "interval")
VOTE_LEVELS = ("nominal",)  # of two values all levels are the same


@dataclass(frozen=True)
class AgreementFigure:
    """One measure of agreement: 1 is perfect, 0 is chance level; NaN where it is undefined.

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
    """The agreement figures, each assessor's work, and quartiles of the seconds per answer."""

    figures: tuple[AgreementFigure, ...]
    assessors: tuple[Assessor, ...]
    seconds: Quartiles | None

    def warnings(self) -> Iterator[str]:
        """Warnings: no passage with two grades, or grades that are all equal."""
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
