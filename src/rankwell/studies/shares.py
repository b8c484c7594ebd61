"""Rows beside the baseline: what share of its quality they keep, and how many times as fast they are."""

from __future__ import annotations

from collections.abc import Mapping

from rankwell.studies.figures import Figure

PAIRS_A_SECOND, FASTER = "pairs/s", "times as fast"


def share_columns(baseline: str) -> tuple[str, str]:
    """What the two columns are called."""
    return f"% of {baseline}", FASTER


def shares_of(
    figures: Mapping[str, Figure], first: Mapping[str, Figure], measure: str, baseline: str
) -> dict[str, Figure]:
    """A row's figures by those of the baseline, without what one of them lacks."""
    kept, faster = share_columns(baseline)
    found = {}
    for name, column, factor, digits in ((kept, measure, 100.0, 1), (faster, PAIRS_A_SECOND, 1.0, 2)):
        if column in figures and column in first and first[column].value:
            value = factor * figures[column].value / first[column].value
            found[name] = Figure(value, figures[column].cell, digits=digits)
    return found
