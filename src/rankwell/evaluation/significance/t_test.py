"""Student's paired t-test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from rankwell.evaluation.significance.interval import Interval, Values, moments, t_interval
from rankwell.evaluation.significance.paired import Finding, PairedTest
from rankwell.evaluation.significance.student import two_sided_p


@dataclass(frozen=True, kw_only=True)
class TTest(PairedTest):
    """The paired t-test: t = mean / (sd / sqrt(n)) against Student's distribution with n - 1 degrees of freedom.

    Student (1908), "The probable error of a mean". For IR measures it is as good a choice as any, also where the
    differences are far from normal (Urbano, Lima and Hanjalic, SIGIR 2019).

    Fewer than two queries: p = 1 and an unbounded interval. All differences 0: p = 1. All differences equal and not
    0: p = 0, the limit for a deviation that goes to 0, and the interval is a point.
    """

    name: ClassVar[str] = "t"

    def find(self, found: Values) -> Finding:
        """The t statistic's two-sided p, and Student's interval."""
        interval = t_interval(found, self.level)
        mean, sd = moments(found)
        if len(found) < 2 or mean == 0:  # noqa: PLR2004 -- one difference has no spread
            return Finding(1.0, interval)
        if sd == 0:
            return Finding(0.0, Interval(mean, mean))
        return Finding(two_sided_p(mean / sd * math.sqrt(len(found)), len(found) - 1), interval)
