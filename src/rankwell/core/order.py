"""The one tie rule: higher score first, then document id descending, as trec_eval has it.

trec_eval holds scores as 32-bit floats and compares ids byte by byte; so do we (numpy's StringDType is UTF-8 and
compares by code point, which is the same order). Ranks printed by Rankwell and by trec_eval therefore never disagree.
"""

from __future__ import annotations

import numpy as np

from rankwell.core.arrays import Floats, Integers, Strings

PAIR = 2


def ranking_order(offsets: Integers, docnos: Strings, scores: Floats) -> Integers | None:
    """The permutation that puts every query's documents in order, or None where they stand in order already.

    Runs are nearly always sorted by score already with a few ties, so only queries whose scores rise are sorted, and
    only documents that share a score are compared by id.
    """
    if len(scores) < PAIR:
        return None
    inside = np.ones(len(scores) - 1, dtype=bool)  # neighbours of the same query
    borders = offsets[1:-1]
    inside[borders[(borders > 0) & (borders < len(scores))] - 1] = False
    if not (inside & (scores[1:] >= scores[:-1])).any():
        return None
    order = _by_score(offsets, scores, inside)
    tied = inside & (scores[order][1:] == scores[order][:-1])
    _settle_ties(order, docnos, tied)
    return order


def _by_score(offsets: Integers, scores: Floats, inside: np.ndarray) -> Integers:
    """Sort the queries in which some score is higher than the one before it."""
    order = np.arange(len(scores), dtype=np.int64)
    rises = np.flatnonzero(inside & (scores[1:] > scores[:-1]))
    for query in np.unique(np.searchsorted(offsets, rises, side="right") - 1):
        start, end = offsets[query], offsets[query + 1]
        order[start:end] = start + np.argsort(-scores[start:end], kind="stable")
    return order


def _settle_ties(order: Integers, docnos: Strings, tied: np.ndarray) -> None:
    """Within each group of equal scores put the ids in descending order. `tied[i]`: i and i + 1 share a score."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], tied, [False])).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2] + 1
    pairs = ends - starts == PAIR
    first, second = order[starts[pairs]], order[starts[pairs] + 1]
    wrong = np.asarray(docnos[first] < docnos[second])
    order[starts[pairs]] = np.where(wrong, second, first)
    order[starts[pairs] + 1] = np.where(wrong, first, second)
    for start, end in zip(starts[~pairs].tolist(), ends[~pairs].tolist(), strict=True):
        group = order[start:end]
        order[start:end] = group[np.argsort(docnos[group], kind="stable")[::-1]]
