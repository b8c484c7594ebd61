"""Match functions by name, and the candidates: the documents of an index that a query considers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankwell.core import ParameterError, RankwellError, Run
from rankwell.index import Hits, Mask, SearchIndex
from rankwell.retrieve.boolean import Boolean
from rankwell.retrieve.filters import filter_mask, parse_filter
from rankwell.retrieve.matching import AllTerms, AnyTerm, Asked, Intersection, Match, Nearest, Union
from rankwell.retrieve.syntax import Node

logger = logging.getLogger(__name__)

SHOWN = 3  # ids of queries in a warning
EXPRESSION = "expr"
# An expression may contain any character, so it extends to the end of the text.
TAIL = re.compile(rf"(?<![^\s+&]){EXPRESSION}:(?P<expression>.*)", re.DOTALL)
EXAMPLES = "or, and, ann:100, expr:... or several with + (union) or & (intersection) between them"


def plain(kind: Callable[[], Match]) -> Callable[[str | None], Match]:
    """A factory for a match function without argument."""

    def made(argument: str | None) -> Match:
        if argument is not None:
            raise ParameterError("match", expected="no argument here", found=argument)
        return kind()

    return made


MATCHES: dict[str, Callable[[str | None], Match]] = {
    "or": plain(AnyTerm),
    "and": plain(AllTerms),
    "ann": Nearest.parse,
    EXPRESSION: Boolean,
}
"""What makes a match function of what stands behind the colon (None without one)."""


def parse_match(text: str | Match) -> Match:
    """Parse a match function. `&` binds tighter than `+`; `expr:` extends to the end of the text.

    `expr` alone uses each query's own text as its expression.
    """
    if isinstance(text, Match):
        return text
    tail = TAIL.search(text)
    head = text[: tail.start()] + EXPRESSION if tail else text
    groups = [[part.strip() for part in group.split("&")] for group in head.split("+")]
    made = [[_made(part, text) for part in group] for group in groups]
    if tail:
        made[-1][-1] = MATCHES[EXPRESSION](tail["expression"])
    return _one(Union, [_one(Intersection, parts) for parts in made])


def _made(part: str, text: str) -> Match:
    name, colon, argument = part.partition(":")
    if name not in MATCHES:
        raise ParameterError("match", expected=EXAMPLES, found=text)
    return MATCHES[name](argument if colon else None)


def _one(kind: Callable[[tuple[Match, ...]], Match], parts: list[Match]) -> Match:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def matched(match: str | Match, asked: Asked, index: SearchIndex) -> Mask:
    """Mask of the live documents that match."""
    return parse_match(match).mask(asked, index) & index.live


def filtered(condition: str | Node, index: SearchIndex) -> Mask:
    """Mask of the live documents that pass a filter on metadata; for `within` of `index.search`."""
    parsed = parse_filter(condition) if isinstance(condition, str) else condition
    return filter_mask(parsed, index.columns, index.spellings) & index.live


def check(match: str | Match | None, condition: str | None, index: SearchIndex) -> None:
    """Raise where a match function or a filter needs what the index lacks."""
    if match is not None:
        parse_match(match).check(index.fields)
    if condition is not None:
        filter_mask(parse_filter(condition), index.columns, index.spellings)


def query_texts(run: Run, field: str | None = None) -> dict[str, str]:
    """The texts of a run's queries, in the wording of that name or the first."""
    if run.queries is None:
        raise RankwellError(f"run {run.tag!r}: expected the texts of its queries, found a run without their texts")
    for qid in run.qids:
        if qid not in run.queries:
            raise RankwellError(f"run {run.tag!r}: expected the text of query {qid!r}, found only its id")
    return {qid: run.queries[qid].text(field) for qid in run.qids}


def warn_of_empty(qids: Sequence[str], lacking: str) -> None:
    """Warn of queries that find nothing for want of text."""
    if qids:
        names = ", ".join(qids[:SHOWN]) + (", ..." if len(qids) > SHOWN else "")
        logger.warning("%d queries have no %s and find nothing: %s", len(qids), lacking, names)


def join_hits(parts: Sequence[Hits], index: SearchIndex) -> Hits:
    """The results of several searches as one."""
    offsets = np.cumsum([0, *(len(part.documents) for part in parts)])
    documents = np.concatenate([np.zeros(0, dtype=np.int64), *(part.documents for part in parts)])
    return Hits(offsets, documents, np.concatenate([np.zeros(0, np.float32), *(part.scores for part in parts)]), index)


@dataclass(frozen=True)
class MatchRatios:
    """The fraction of the collection that each query considers: matched / all documents."""

    per_query: Mapping[str, float]
    documents: int

    @property
    def mean(self) -> float:
        """The mean over all queries (0 without one)."""
        return float(np.mean(list(self.per_query.values()))) if self.per_query else 0.0


def match_ratios(match: str | Match, queries: Mapping[str, Asked], index: SearchIndex) -> MatchRatios:
    """The match ratio for every query, by counting without scoring."""
    documents = int(index.live.sum())
    counts = {qid: int(matched(match, asked, index).sum()) for qid, asked in queries.items()}
    return MatchRatios({qid: count / max(documents, 1) for qid, count in counts.items()}, documents)
