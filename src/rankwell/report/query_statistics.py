"""Statistics of queries, of judgments, and of the tokens a cross-encoder would read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from rankwell.core import Query
from rankwell.report.document_statistics import TITLE, FieldTally, Lengths, crossed

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
    """Statistics of all texts of all queries."""
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


@dataclass(frozen=True)
class JudgmentStatistics:
    """Statistics of judgments. `documents` counts distinct judged documents, `found` those in the collection."""

    judgments: int
    grades: Mapping[int, int]
    per_topic: Mapping[str, Mapping[int, int]]
    documents: int
    found: int
    missing_examples: tuple[str, ...]

    @property
    def missing(self) -> int:
        """Number of judged documents that are not in the collection."""
        return self.documents - self.found

    def of_grade(self, grade: int) -> list[int]:
        """Number of judgments of this grade for each topic."""
        return [grades.get(grade, 0) for grades in self.per_topic.values()]


def judged_documents(judgments: Mapping[str, Mapping[str, int]]) -> dict[str, None]:
    """The ids of all judged documents, each once, in the order in which they were judged."""
    return dict.fromkeys(docno for grades in judgments.values() for docno in grades)


def judgment_statistics(judgments: Mapping[str, Mapping[str, int]], found: AbstractSet[str]) -> JudgmentStatistics:
    """Statistics of the judgments; `found` are the judged documents in the collection."""
    judged = judged_documents(judgments)
    per_topic = {qid: dict(sorted(Counter(grades.values()).items())) for qid, grades in judgments.items() if grades}
    balance: Counter[int] = Counter()
    for grades in per_topic.values():
        balance.update(grades)
    missing = (docno for docno in judged if docno not in found)
    return JudgmentStatistics(
        judgments=balance.total(),
        grades=dict(sorted(balance.items())),
        per_topic=per_topic,
        documents=len(judged),
        found=len(found),
        missing_examples=tuple(docno for docno, _ in zip(missing, range(SHOWN_IDS), strict=False)),
    )


# [CLS] query [SEP] document [SEP]
SPECIAL_TOKENS = 3


@dataclass(frozen=True)
class PairStatistics:
    """Tokens of pairs of a query and the named fields of a document.

    With judgments (`judged`) these are the judged pairs, each once; without any, every query is paired with every
    document. Documents that have none of the fields are left out.
    """

    fields: tuple[str, ...]
    tokens: Lengths
    judged: bool

    @property
    def name(self) -> str:
        """The texts of a pair, such as "query + title + abstract"."""
        return " + ".join(("query", *self.fields))


def field_groups(titled: bool, main: str | None) -> list[tuple[str, ...]]:
    """The groups of fields to pair with the query: the main one alone and after the title, or only the title."""
    if main is None:
        return [(TITLE,)] if titled else []
    return [(main,), (TITLE, main)] if titled else [(main,)]


def judged_pairs(
    groups: Sequence[tuple[str, ...]],
    query_tokens: Mapping[str, int],
    judgments: Mapping[str, Mapping[str, int]],
    fields: Mapping[str, FieldTally],
) -> list[PairStatistics]:
    """Tokens of the judged pairs whose query and document are both there, given the tokens of each query."""
    found = []
    for group in groups:
        tallies = [fields[name].judged for name in group]
        occurrences: Counter[int] = Counter()
        for qid in judgments.keys() & query_tokens.keys():
            for docno in judgments[qid]:
                parts = [tally[docno] for tally in tallies if docno in tally]
                if parts:
                    occurrences[query_tokens[qid] + sum(parts) + SPECIAL_TOKENS] += 1
        found.append(PairStatistics(group, Lengths.of(occurrences), judged=True))
    return found


def all_pairs(
    groups: Sequence[tuple[str, ...]], query_tokens: Mapping[str, int], fields: Mapping[str, FieldTally]
) -> list[PairStatistics]:
    """Tokens of every query with every document, computed from the distinct lengths."""
    asked = Lengths.of(Counter(query_tokens.values()))
    found = []
    for group in groups:
        last = fields[group[-1]]
        # A document without the last field is still read by its title, where that belongs to the group.
        documents = last.tokens if len(group) == 1 else last.with_title + (fields[TITLE].tokens - last.titles_beside)
        found.append(PairStatistics(group, crossed(asked, Lengths.of(documents), SPECIAL_TOKENS), judged=False))
    return found
