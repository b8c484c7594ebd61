"""Groups of queries by length or by answer type, for results by group."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rankwell.core import ParameterError
from rankwell.evaluation.answer_types import AnswerType, answer_types

Groups = dict[str, tuple[str, ...]]

LENGTHS = (1, 3, 5, 8)
"""The shortest query of each bin: 1-2, 3-4, 5-7, 8+ words. Keywords, short phrases, sentences, long ones."""

NO_WORDS = "no words"
UNCLASSIFIED = "unclassified"


def words(text: str) -> int:
    """Number of words without punctuation; stop words and repeated words count, as in the re-assessment study."""
    return len(re.sub(r"[^\w\s]|_", "", text).split())


def by_length(texts: Mapping[str, str], *, starts: Sequence[int] = LENGTHS, quantiles: int | None = None) -> Groups:
    """Query ids by the number of words, shortest first, under names such as "3-4 words".

    `starts` are the least numbers of words of the bins. With `quantiles` the bins are chosen to hold about as many
    queries each; there may be fewer than asked for, since queries of one length stay together. Bins without a query
    are left out; queries without a word form their own group.
    """
    lengths = {qid: words(text) for qid, text in texts.items()}
    if quantiles is not None:
        starts = _quantile_starts([length for length in lengths.values() if length], quantiles)
    elif not starts or any(first >= second for first, second in pairwise([0, *starts])):
        raise ParameterError("starts", expected="numbers of words, rising, from 1", found=tuple(starts))
    groups = {NO_WORDS: tuple(qid for qid, length in lengths.items() if length == 0)}
    for first, after in pairwise([*_from_one(starts), math.inf]):
        groups[_name(first, after)] = tuple(qid for qid, length in lengths.items() if first <= length < after)
    return _without_empty(groups)


def by_answer_type(texts: Mapping[str, str], overrides: Mapping[str, AnswerType | None] | None = None) -> Groups:
    """Query ids by answer type, in the order of `AnswerType`; those without a type come last."""
    types = answer_types(texts, overrides)
    groups = {kind.value: tuple(qid for qid, found in types.items() if found is kind) for kind in AnswerType}
    groups[UNCLASSIFIED] = tuple(qid for qid, found in types.items() if found is None)
    return _without_empty(groups)


def _quantile_starts(lengths: Sequence[int], quantiles: int) -> list[int]:
    """Starts of bins that hold about the same number of queries each."""
    if quantiles < 1:
        raise ParameterError("quantiles", expected="a number of groups, at least 1", found=quantiles)
    ordered = sorted(lengths)
    places = (round(part * len(ordered) / quantiles) for part in range(quantiles))
    return sorted({ordered[place] for place in places if place < len(ordered)})


def _from_one(starts: Sequence[int]) -> list[int]:
    """The starts with the first lowered to 1, so that no query is lost."""
    return [1, *starts[1:]]


def _name(first: float, after: float) -> str:
    """The name of a bin: "1-2 words", "1 word", "8+ words"."""
    if math.isinf(after):
        return f"{first}+ words"
    last = int(after) - 1
    return f"{first}-{last} words" if last > first else f"{first} word{'s' if first > 1 else ''}"


def _without_empty(groups: Groups) -> Groups:
    return {name: qids for name, qids in groups.items() if qids}
