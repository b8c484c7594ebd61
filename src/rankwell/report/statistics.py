"""Statistics of a collection as numbers, tables, pictures and a page."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from rankwell.core import Document, ParameterError, Query
from rankwell.report.document_statistics import (
    TITLE,
    DuplicateStatistics,
    DuplicateTally,
    FieldStatistics,
    FieldTally,
    Lengths,
    YearStatistics,
    main_field,
    year_of,
)
from rankwell.report.html import Page
from rankwell.report.pictures import Picture
from rankwell.report.query_statistics import (
    SHOWN_IDS,
    CountTokens,
    JudgmentStatistics,
    PairStatistics,
    QueryStatistics,
    all_pairs,
    field_groups,
    judged_documents,
    judged_pairs,
    judgment_statistics,
    query_statistics,
)
from rankwell.report.statistics_page import statistics_page, statistics_pictures
from rankwell.report.statistics_tables import statistics_tables
from rankwell.report.table import Table

# Enough texts for a tokenizer to use all cores, few enough for the memory.
BATCH = 256


class DocumentTally:
    """Counts over the documents while they are read."""

    def __init__(self, judged: AbstractSet[str], count_tokens: CountTokens | None) -> None:
        self.documents = 0
        self.empty = 0
        self.empty_examples: list[str] = []
        self.found: set[str] = set()
        self.fields: defaultdict[str, FieldTally] = defaultdict(FieldTally)
        self.years: Counter[int] = Counter()
        self.duplicates = DuplicateTally()
        self._judged = judged
        self._count_tokens = count_tokens

    def read(self, documents: Iterable[Document]) -> None:
        """Count all documents, in batches for the tokenizer."""
        for batch in _batches(documents):
            filled = [{name: text for name, text in document.fields.items() if text.strip()} for document in batch]
            tokens = self._tokens(filled)
            for document, texts in zip(batch, filled, strict=True):
                self._add(document, texts, {name: next(tokens) for name in texts})

    def _tokens(self, filled: Sequence[dict[str, str]]) -> Iterator[int]:
        """Token counts of all texts of the batch, one after the other; zeros without a tokenizer."""
        texts = [text for of_document in filled for text in of_document.values()]
        if self._count_tokens is None:
            return iter([0] * len(texts))
        counts = self._count_tokens(texts) if texts else []
        return (int(count) for _, count in zip(texts, counts, strict=True))

    def _add(self, document: Document, texts: dict[str, str], tokens: dict[str, int]) -> None:
        self.documents += 1
        judged = document.id in self._judged
        if judged:
            self.found.add(document.id)
        all_words: list[str] = []
        for name, text in texts.items():
            words = text.lower().split()
            all_words += words
            tally = self.fields[name]
            tally.words[len(words)] += 1
            tally.tokens[tokens[name]] += 1
            if judged:
                tally.judged[document.id] = tokens[name]
            if name != TITLE:
                _compare_with_title(tally, text, tokens[name], texts.get(TITLE), tokens.get(TITLE, 0))
        if all_words:
            self.duplicates.add(document.id, all_words)
        else:
            self._add_empty(document.id)
        year = year_of(document.metadata) if document.metadata else None
        if year is not None:
            self.years[year] += 1

    def _add_empty(self, docno: str) -> None:
        self.empty += 1
        if len(self.empty_examples) < SHOWN_IDS:
            self.empty_examples.append(docno)


def _compare_with_title(tally: FieldTally, text: str, tokens: int, title: str | None, title_tokens: int) -> None:
    """Compare a text's length with the title's, if there is one."""
    tally.with_title[title_tokens + tokens] += 1
    if title is not None:
        tally.titles_beside[title_tokens] += 1
        tally.beside_title += 1
        tally.shorter_than_title += len(text.strip()) < len(title.strip())


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    rest = iter(documents)
    while batch := list(islice(rest, BATCH)):
        yield batch


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
        plain = asdict(self, dict_factory=_json_keys)
        plain["fields"] = [self._field_dict(field) for field in self.fields]
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

    def _field_dict(self, field: FieldStatistics) -> dict[str, Any]:
        lengths: dict[str, Lengths | None] = {"words": field.words, "tokens": field.tokens}
        limits = {"words": None, "tokens": self.token_limit}
        return asdict(field) | {kind: of and of.as_dict(limits[kind]) for kind, of in lengths.items()}


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
        groups = field_groups(TITLE in tally.fields, main)
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


def _json_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary whose inner dictionaries have text for keys, as JSON wants years and grades."""
    return {name: _text_keys(value) for name, value in items}


def _text_keys(value: Any) -> Any:
    return {str(key): _text_keys(inner) for key, inner in value.items()} if isinstance(value, dict) else value
