"""Which assessed queries are fit to measure with (S1's algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping

from rankwell.assess.majority import majority
from rankwell.assess.panels import Panel

KEPT = "kept"
TOO_FEW = "too few assessors"
NOT_CONFIRMED = "no passage known to be relevant was judged relevant"


def why_left_out(panel: Panel, original: Mapping[str, int], assessors: int, threshold: int | None) -> str:
    """`KEPT`, or why the query is left out.

    S1's algorithm 1: a query is kept if at least so many people assessed it and its originally relevant passage is
    among those which the majority calls relevant at the threshold. Of several originally relevant passages one is
    enough (S1's queries had one each). Where there is more than one threshold the strictest is asked for, so that all
    label sets are over the same queries: what is relevant there is relevant at a lower threshold too. Without a
    threshold only the number of assessors counts.
    """
    if len(panel.assessors) < assessors:
        return TOO_FEW
    if threshold is None:
        return KEPT
    relevant = (docno for docno, grade in original.items() if grade > 0 and docno in panel.answers)
    confirmed = any(majority(panel.answers[docno], threshold, original=True) for docno in relevant)
    return KEPT if confirmed else NOT_CONFIRMED
