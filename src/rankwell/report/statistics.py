"""What a collection is like, in figures, tables, pictures and one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rankwell.core import Document, ParameterError, Query
from rankwell.plots import Picture
from rankwell.report.document_pass import DocumentTally
from rankwell.report.duplicate_statistics import DuplicateStatistics
from rankwell.report.field_statistics import TITLE, FieldStatistics, main_field
from rankwell.report.html import Page
from rankwell.report.judgment_statistics import JudgmentStatistics, judged_documents, judgment_statistics
from rankwell.report.lengths import Lengths
from rankwell.report.pair_statistics import PairStatistics, all_pairs, field_groups, judged_pairs
from rankwell.report.query_statistics import CountTokens, QueryStatistics, query_statistics
from rankwell.report.statistics_page import statistics_page
from rankwell.report.statistics_pictures import statistics_pictures
from rankwell.report.statistics_tables import statistics_tables
from rankwell.report.table import Table
from rankwell.report.year_statistics import YearStatistics


@dataclass(frozen=True)
class CollectionStatistics:
    """The figures of a collection. What could not be had is None: years, queries, judgments, tokens.

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
        """The figures as tables, those that need something this collection lacks left out."""
        return statistics_tables(self)

    def pictures(self) -> dict[str, Picture]:
        """The figures as pictures by name (`fields`, `words-title`, `years`, ...), which can serve as file names."""
        return statistics_pictures(self)

    def page(self, title: str = "Collection statistics", command: str | None = None) -> Page:
        """Tables and pictures on one page."""
        return statistics_page(self, title, command)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it."""
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
