"""Fleiss' kappa: how far several people agree on categories, beyond chance."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Kappa from a table with a row for each passage, a column for each category, and the number of people in it.

    kappa = (P - E) / (1 - E)
    P     = mean over passages with n_i >= 2 grades of sum_j n_ij (n_ij - 1) / (n_i (n_i - 1))
    E     = sum_j p_j^2, p_j = mean over passages of n_ij / n_i

    Fleiss (1971), "Measuring nominal scale agreement among many raters", has the same number of people at every
    passage. Where it varies, as here, this is Gwet's generalisation ("Handbook of inter-rater reliability", 4th
    edition, 2014, chapter 2): every passage weighs the same however many people graded it, and one with a single grade
    counts for chance (E) only. For equal numbers it is Fleiss' own.

    Not a number where agreement cannot be told from chance (all grades are of one category), and where no passage has
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
