"""What is asked: how many queries, how long, and which of them nobody judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rankwell.core import Query
from rankwell.report.lengths import Lengths

SHOWN_IDS = 5

# Counts the tokens of each of several texts, without the special ones.
CountTokens: TypeAlias = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class QueryStatistics:
    """The queries of a collection; lengths are by the name of the text (`query`, `question`, ...).

    `without_judgments` and `without_query` are None where there are no judgments at all to compare with.
    """

    queries: int
    words: Mapping[str, Lengths]
    tokens: Mapping[str, Lengths] | None
    without_judgments: int | None
    without_judgments_examples: tuple[str, ...]
    without_query: int | None
    without_query_examples: tuple[str, ...]


def query_statistics(
    queries: Mapping[str, Query],
    judgments: Mapping[str, Mapping[str, int]] | None,
    count_tokens: CountTokens | None,
) -> QueryStatistics:
    """The figures over all texts of all queries."""
    texts: dict[str, list[str]] = {}
    for query in queries.values():
        for name, text in query.texts.items():
            texts.setdefault(name, []).append(text)
    silent = [qid for qid in queries if not (judgments or {}).get(qid)]
    orphans = [qid for qid, grades in (judgments or {}).items() if grades and qid not in queries]
    known = judgments is not None
    return QueryStatistics(
        queries=len(queries),
        words={name: _lengths([len(text.split()) for text in of_name]) for name, of_name in texts.items()},
        tokens={name: _lengths(count_tokens(of_name)) for name, of_name in texts.items()} if count_tokens else None,
        without_judgments=len(silent) if known else None,
        without_judgments_examples=tuple(silent[:SHOWN_IDS]) if known else (),
        without_query=len(orphans) if known else None,
        without_query_examples=tuple(orphans[:SHOWN_IDS]),
    )


def _lengths(lengths: Sequence[int]) -> Lengths:
    return Lengths.of(Counter(lengths))
