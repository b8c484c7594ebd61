"""Sort what a search finds by a metadata column or by title, in place of relevance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwell.core import Floats, Integers, ParameterError, Phrase, RankwellError
from rankwell.core.stage import as_run
from rankwell.index import Index
from rankwell.index.columns import NumberColumn, sort_keys
from rankwell.retrieve.bm25 import BM25
from rankwell.retrieve.candidates import matched
from rankwell.retrieve.matching import Asked

RELEVANCE, TITLE = "relevance", "title"
ASCENDING, DESCENDING = "asc", "desc"
MOST_TITLES = 10_000  # documents: their titles are read from the store one by one
HELP = "Sort by relevance, by a metadata column (year:desc, year:asc) or by title."


@dataclass(frozen=True)
class Sort:
    """A column (or "title") to sort by, and the direction. Documents without a value come last in both directions.

    >>> parse_sort("year:desc")
    Sort(column='year', descending=True)
    """

    column: str
    descending: bool = False

    def __str__(self) -> str:
        return f"{self.column}:{DESCENDING if self.descending else ASCENDING}"


def parse_sort(text: str) -> Sort | None:
    """A sort as `COLUMN`, `COLUMN:asc` or `COLUMN:desc`; None for relevance."""
    if text in ("", RELEVANCE):
        return None
    column, colon, direction = text.rpartition(":")
    if not colon or direction not in (ASCENDING, DESCENDING):
        column, direction = text, ASCENDING
    return Sort(column, direction == DESCENDING)


def sort_matches(ranker: BM25, words: str, sort: Sort, last: int) -> list[tuple[str, float]]:
    """The first `last` of the documents that a search finds, sorted, with their scores.

    Documents of the same value follow each other by relevance.
    """
    index = ranker.index
    if not isinstance(index, Index):
        raise RankwellError(f"sort: expected an index in a folder, found {index.path}: sort by relevance")
    mask, given = matched(ranker.match, Asked(words, tuple(ranker.weights or ("",))), index), ranker.restriction()
    documents = np.flatnonzero(index.mask(mask if given is None else mask & given))
    keys = _keys(index, documents, sort)
    documents, keys = _contenders(documents, keys, last)
    if not len(documents):
        return []
    found = replace(ranker, k=len(documents), within=documents).apply(as_run(words))
    docnos = index.docnos(documents).tolist()
    scores = dict(found[found.qids[0]])
    rows = [(key, scores.get(docno, 0.0), docno) for key, docno in zip(keys.tolist(), docnos, strict=True)]
    rows.sort(key=lambda row: row[2], reverse=True)  # the tie rule
    rows.sort(key=lambda row: (row[0], -row[1]))
    return [(docno, score) for _, score, docno in rows[:last]]


def _contenders(documents: Integers, keys: Floats, last: int) -> tuple[Integers, Floats]:
    """The documents that may be among the first `last`: all of the same value stay together."""
    if len(documents) > last:
        kept = keys <= np.partition(keys, last - 1)[last - 1]
        documents, keys = documents[kept], keys[kept]
    return documents, keys


def _keys(index: Index, documents: Integers, sort: Sort) -> Floats:
    """A number for each of these documents, ascending in the wanted order; infinity without a value."""
    column = index.columns.get(sort.column)
    if column is None and sort.column == TITLE and TITLE in index.fields:
        keys = _title_keys(index, documents)
    elif column is None:
        known = [*index.columns, *([TITLE] if TITLE in index.fields else [])]
        expected = f"{RELEVANCE} or one of {', '.join(known)}" if known else f"{RELEVANCE} (the index has no metadata)"
        raise ParameterError("sort", expected=expected, found=sort.column)
    else:
        keys = column.numbers[documents] if isinstance(column, NumberColumn) else sort_keys(column)[documents]
    keys = -keys if sort.descending else keys
    return np.where(np.isnan(keys), np.inf, keys)


def _title_keys(index: Index, documents: Integers) -> Floats:
    if len(documents) > MOST_TITLES:
        expected = f"at most {MOST_TITLES:,} found documents (or an index with `--metadata {TITLE}`)"
        raise ParameterError("sort by title", expected=expected, found=Phrase(f"{len(documents):,}"))
    titles = [index.documents[docno].fields.get(TITLE, "") for docno in index.docnos(documents).tolist()]
    folded = [" ".join(title.casefold().split()) for title in titles]
    place = {title: number for number, title in enumerate(sorted(set(folded)))}
    return np.array([place[title] if title else np.nan for title in folded], dtype=np.float64)
