"""Scoring with numpy alone, every posting of every term: right away, without compiling or loading anything.

What a single search uses, and what the compiled kernels are tested against.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwell.index.layout import Array
from rankwell.index.plan import Plan
from rankwell.index.scoring import Scoring
from rankwell.index.segment import Segment


def scan(
    segment: Segment,
    place: int,
    plan: Plan,
    scoring: Scoring,
    averages: Mapping[str, float],
    *,
    allowed: Array | None,
    k: int,
) -> tuple[Array, Array]:
    """The k best documents of a segment (the one at that place in the index) and their scores, best first."""
    sums = np.zeros(segment.documents)
    reached = np.zeros(segment.documents, dtype=np.int32)  # how many of the query's terms in a row are there
    for line in plan.lines:
        number = line.lists[place]
        if number is None:
            continue
        documents = segment.documents_of(number)
        frequencies = segment.frequencies_of(number).astype(np.float64)
        lengths = segment.lengths[segment.spaces[line.field]][documents].astype(np.float64)
        norm = scoring.k1 * (1 - scoring.b + scoring.b * lengths / averages[line.field])
        sums[documents] += line.weight * frequencies / (frequencies + norm)
        if scoring.match == "and":
            reached[documents] = np.where(reached[documents] == line.group, line.group + 1, reached[documents])
        else:
            reached[documents] = 1
    wanted = plan.groups if scoring.match == "and" else 1
    matching = reached == wanted if allowed is None else (reached == wanted) & allowed
    documents = np.flatnonzero(matching)
    return best(documents, sums[documents].astype(np.float32), k)


def best(documents: Array, scores: Array, k: int) -> tuple[Array, Array]:
    """The k best of these, by score and then by number (which is by id descending), in that order."""
    if len(scores) > k:
        kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        documents, scores = documents[kept], scores[kept]
    order = np.lexsort((documents, -scores))[:k]
    return documents[order], scores[order]
