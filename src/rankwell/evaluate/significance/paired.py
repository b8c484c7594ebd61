"""What all paired tests share: the differences query by query, and what is told about them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.evaluate.significance.interval import Interval, Values, check_level, checked, moments


@dataclass(frozen=True)
class PairedDifference:
    """How one system differs from another on the same queries, and how sure that is.

    `mean` is the mean of system minus baseline and `p` the two-sided p-value of "there is no difference".
    `effect_size` is Cohen's d_z = mean / sd of the differences: 0 where all are 0, infinite where all are equal and
    not 0, not a number for fewer than two queries. `permutations` and `seed` are those of a test that draws lots: the
    number of sign patterns or samples looked at, and None for the seed where nothing was drawn.
    """

    test: str
    queries: int
    mean: float
    p: float
    interval: Interval
    level: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    permutations: int | None = None
    seed: int | None = None


class Finding(NamedTuple):
    """What a test itself says; the rest of a `PairedDifference` is the same for all."""

    p: float
    interval: Interval
    permutations: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class PairedTest(ABC):
    """A two-sided test of a system against a baseline over the same queries, in the same order.

    Differences of at most `tolerance` are rounding, not wins: they count as ties and as exactly 0, and differences that
    are all within `tolerance` of each other count as equal. Without this, two runs that differ in the last bit of a
    sum could come out as significantly different.
    """

    level: float = 0.95
    tolerance: float = 1e-9

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_level(self.level)
        if not (self.tolerance >= 0 and math.isfinite(self.tolerance)):
            raise ParameterError("tolerance", expected="a small number, 0 or more", found=self.tolerance)

    def __call__(
        self, values: npt.ArrayLike, baseline: npt.ArrayLike, *, higher_is_better: bool = True
    ) -> PairedDifference:
        """Compare two systems by their values query by query; `higher_is_better` decides what counts as a win."""
        found = differences(values, baseline, self.tolerance)
        finding = self.find(found)
        mean, sd = moments(found)
        above, below = int((found > 0).sum()), int((found < 0).sum())
        return PairedDifference(
            test=self.name,
            queries=len(found),
            mean=mean,
            p=finding.p,
            interval=finding.interval,
            level=self.level,
            effect_size=effect_size(mean, sd),
            wins=above if higher_is_better else below,
            ties=len(found) - above - below,
            losses=below if higher_is_better else above,
            permutations=finding.permutations,
            seed=finding.seed,
        )

    @abstractmethod
    def find(self, found: Values) -> Finding:
        """The p-value, and the interval of the mean difference, from the differences."""


def differences(values: npt.ArrayLike, baseline: npt.ArrayLike, tolerance: float = 0.0) -> Values:
    """System minus baseline, query by query, with rounding taken out (see `PairedTest`)."""
    ours, theirs = checked("values", values), checked("baseline", baseline)
    if len(ours) != len(theirs):
        found = Phrase(f"{len(ours)} and {len(theirs)}")
        raise ParameterError("values, baseline", expected="values of the same queries, one each", found=found)
    found_differences = ours - theirs
    found_differences[np.abs(found_differences) <= tolerance] = 0.0
    if len(ours) and np.ptp(found_differences) <= tolerance:
        found_differences[:] = np.median(found_differences)
    return found_differences


def effect_size(mean: float, sd: float) -> float:
    """Cohen's d_z = mean / sd of the paired differences (Cohen 1988, "Statistical power analysis"; Lakens 2013)."""
    if sd == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / sd
