"""Validation and test: models are chosen on some of the measured queries, and the chosen one is told of the others."""

from __future__ import annotations

from rankwell.core import Judgments
from rankwell.studies.data import AND, Chosen, smallest
from rankwell.studies.study import ALL, TEST, VALIDATION


def part_of(chosen: Chosen, judgments: Judgments, part: str) -> Judgments:
    """The judgments of a part of the queries.

    A collection whose `split` is "validation+test" says itself which are which, in this order; of any other one half of
    the queries, drawn by the seed, are for the test, and the rest (one more, where they are odd) for validation.
    """
    if part == ALL:
        return judgments
    splits = (chosen.entry.split or "").split(AND)
    if len(splits) > 1:
        names = splits[:1] if part == VALIDATION else splits[1:]
        wanted = {qid for name in names for qid in chosen.open().judgments(name)}
        return judgments.only(qid for qid in judgments if qid in wanted)
    tested = smallest(list(judgments), len(judgments) // 2, chosen.seed)
    return judgments.only(qid for qid in judgments if (qid in tested) == (part == TEST))
