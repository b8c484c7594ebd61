"""Statistics of a collection, its queries and judgments, as numbers, tables, pictures and a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from rankwell.core import Document, ParameterError, Query
from rankwell.report.document_statistics import (
    SHOWN_IDS,
    TITLE,
    CountTokens,
    DocumentTally,
    DuplicateStatistics,
    FieldStatistics,
    FieldTally,
    Lengths,
    YearStatistics,
    crossed,
    main_field,
)
from rankwell.report.html import Page
from rankwell.report.pictures import Picture
from rankwell.report.statistics_page import statistics_page, statistics_pictures, statistics_tables
from rankwell.report.table import Table


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
        words={name: Lengths.of(Counter(len(text.split()) for text in of)) for name, of in texts.items()},
        tokens={name: Lengths.of(Counter(count_tokens(of))) for name, of in texts.items()} if count_tokens else None,
        without_judgments=len(silent) if known else None,
        without_judgments_examples=tuple(silent[:SHOWN_IDS]) if known else (),
        without_query=len(orphans) if known else None,
        without_query_examples=tuple(orphans[:SHOWN_IDS]),
    )


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


def judged_documents(judgments: Mapping[str, Mapping[str, int]]) -> dict[str, None]:
    """The ids of all judged documents, each once, in the order in which they were judged."""
    return dict.fromkeys(docno for grades in judgments.values() for docno in grades)


def judgment_statistics(judgments: Mapping[str, Mapping[str, int]], present: AbstractSet[str]) -> JudgmentStatistics:
    """Statistics of the judgments; `present` are the judged documents in the collection."""
    judged = judged_documents(judgments)
    per_topic = {qid: dict(sorted(Counter(grades.values()).items())) for qid, grades in judgments.items() if grades}
    balance: Counter[int] = Counter()
    for grades in per_topic.values():
        balance.update(grades)
    missing = (docno for docno in judged if docno not in present)
    return JudgmentStatistics(
        judgments=balance.total(),
        grades=dict(sorted(balance.items())),
        per_topic=per_topic,
        documents=len(judged),
        found=len(present),
        missing_examples=tuple(islice(missing, SHOWN_IDS)),
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


def judged_pairs(
    groups: Sequence[tuple[str, ...]],
    query_tokens: Mapping[str, int],
    judgments: Mapping[str, Mapping[str, int]],
    fields: Mapping[str, FieldTally],
) -> list[PairStatistics]:
    """Tokens of the judged pairs whose query and document are both there, given the tokens of each query."""
    pairs = []
    for group in groups:
        tallies = [fields[name].judged for name in group]
        occurrences: Counter[int] = Counter()
        for qid in judgments.keys() & query_tokens.keys():
            for docno in judgments[qid]:
                parts = [tally[docno] for tally in tallies if docno in tally]
                if parts:
                    occurrences[query_tokens[qid] + sum(parts) + SPECIAL_TOKENS] += 1
        pairs.append(PairStatistics(group, Lengths.of(occurrences), judged=True))
    return pairs


def all_pairs(
    groups: Sequence[tuple[str, ...]], query_tokens: Mapping[str, int], fields: Mapping[str, FieldTally]
) -> list[PairStatistics]:
    """Tokens of every query with every document, computed from the distinct lengths."""
    asked = Lengths.of(Counter(query_tokens.values()))
    pairs = []
    for group in groups:
        last = fields[group[-1]]
        # A document without the last field is still read by its title, where that belongs to the group.
        documents = last.tokens if len(group) == 1 else last.with_title + (fields[TITLE].tokens - last.titles_beside)
        pairs.append(PairStatistics(group, crossed(asked, Lengths.of(documents), SPECIAL_TOKENS), judged=False))
    return pairs


@dataclass(frozen=True)
class CollectionStatistics:
    """The statistics of a collection. Years, queries, judgments and tokens are None where they are unknown.

    `main_field` is the abstract or, where there is none, the longest field on average that is not the title.
    """

    documents: int
    empty: int
    empty_examples: tuple[str, ...]
    fields: tuple[FieldStatistics, ...]
    main_field: str | None
    duplicates: DuplicateStatistics
    years: YearStatistics | None
    queries: QueryStatistics | None
    judgments: JudgmentStatistics | None
    pairs: tuple[PairStatistics, ...]
    tokenized: bool
    token_limit: int

    def tables(self) -> list[Table]:
        """The statistics as tables, without those for which there are no data."""
        return statistics_tables(self)

    def pictures(self) -> dict[str, Picture]:
        """The statistics as pictures by file name (`fields`, `words-title`, `years`, ...)."""
        return statistics_pictures(self)

    def page(self, title: str = "Collection statistics", command: str | None = None) -> Page:
        """The tables and pictures as one page."""
        return statistics_page(self, title, command)

    def as_dict(self) -> dict[str, Any]:
        """All statistics as JSON values."""
        plain = asdict(self, dict_factory=lambda items: {name: _text_keys(value) for name, value in items})
        for of_field, field in zip(plain["fields"], self.fields, strict=True):
            of_field["words"] = field.words.as_dict()
            of_field["tokens"] = field.tokens and field.tokens.as_dict(self.token_limit)
        plain["pairs"] = [
            {"name": pair.name, "judged": pair.judged, "tokens": pair.tokens.as_dict(self.token_limit)}
            for pair in self.pairs
        ]
        if self.queries is not None:
            plain["queries"]["words"] = {name: words.as_dict() for name, words in self.queries.words.items()}
            if self.queries.tokens is not None:
                limited = {name: of.as_dict(self.token_limit) for name, of in self.queries.tokens.items()}
                plain["queries"]["tokens"] = limited
        if self.judgments is not None:
            plain["judgments"]["missing"] = self.judgments.missing
        return plain

    def to_json(self) -> str:
        """`as_dict` as text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def collection_statistics(
    documents: Iterable[Document],
    queries: Mapping[str, Query] | None,
    judgments: Mapping[str, Mapping[str, int]] | None,
    *,
    count_tokens: CountTokens | None = None,
    token_limit: int = 512,
    query_field: str | None = None,
) -> CollectionStatistics:
    """Read the documents once and give their statistics, with those of the queries and judgments if there are any.

    `count_tokens` counts the tokens of each of several texts without special ones; without it the token figures are
    left out. `query_field` names the text of a query that is paired with documents; by default its first.
    """
    if token_limit < 1:
        raise ParameterError("token_limit", expected="a whole number from 1", found=token_limit)
    tally = DocumentTally(judged_documents(judgments or {}).keys(), count_tokens)
    tally.read(documents)
    fields = tuple(of.finished(name, with_tokens=count_tokens is not None) for name, of in tally.fields.items())
    main = main_field(fields)
    pairs: list[PairStatistics] = []
    if count_tokens is not None and queries:
        # The main field alone and after the title, or only the title.
        alone = [(name,) for name in (main or TITLE,) if name in tally.fields]
        groups = [*alone, *([(TITLE, main)] if main is not None and TITLE in tally.fields else [])]
        counted = count_tokens([query.text(query_field) for query in queries.values()])
        query_tokens = dict(zip(queries, counted, strict=True))
        pairs = (
            judged_pairs(groups, query_tokens, judgments, tally.fields)
            if judgments
            else all_pairs(groups, query_tokens, tally.fields)
        )
    years = YearStatistics(dict(sorted(tally.years.items())), tally.documents - tally.years.total())
    return CollectionStatistics(
        documents=tally.documents,
        empty=tally.empty,
        empty_examples=tuple(tally.empty_examples),
        fields=fields,
        main_field=main,
        duplicates=tally.duplicates.finished(),
        years=years if years.documents else None,
        queries=None if queries is None else query_statistics(queries, judgments, count_tokens),
        judgments=None if judgments is None else judgment_statistics(judgments, tally.found),
        pairs=tuple(pairs),
        tokenized=count_tokens is not None,
        token_limit=token_limit,
    )


def _text_keys(value: Any) -> Any:
    """A dictionary with text for keys, as JSON wants years and grades; any other value as it is."""
    return {str(key): _text_keys(inner) for key, inner in value.items()} if isinstance(value, dict) else value
