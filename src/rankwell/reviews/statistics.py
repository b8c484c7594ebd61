"""Statistics of a collection of reviews, as tables, pictures and one page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from rankwell.collections import Collection, Reading
from rankwell.core import Document, Judgments, ParameterError, Query
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart
from rankwell.report.document_statistics import Lengths
from rankwell.report.pictures import Picture, bars, histogram
from rankwell.report.statistics import SPECIAL_TOKENS
from rankwell.report.table import Cell

ABSTRACTS = ("abstract", "text")  # BEIR calls it text
QUERY, TITLE, ABSTRACT = "query", "title", "abstract"
PAIRS = {"query + abstract": (ABSTRACT,), "query + title + abstract": (TITLE, ABSTRACT)}
BATCH = 1000
ALL = "all"

T = TypeVar("T")
CountTokens = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class ReviewStatistics:
    """Statistics over rows. `tokens` counts a cross-encoder's input; None without a tokenizer."""

    reviews: int
    rows: int
    relevant: int
    missing: int
    documents: int
    words: Mapping[str, Lengths]
    tokens: Mapping[str, Lengths] | None
    token_limit: int
    studies: Lengths
    relevant_studies: Lengths

    @property
    def percent_relevant(self) -> float | None:
        """Per cent of the rows that are relevant."""
        return 100 * self.relevant / self.rows if self.rows else None

    def to_json(self) -> str:
        """All statistics as JSON."""
        plain: dict[str, Any] = {
            **{name: getattr(self, name) for name in ("reviews", "rows", "relevant", "missing", "documents")},
            "percent_relevant": self.percent_relevant,
            "words": {name: of.as_dict() for name, of in self.words.items()},
            "tokens": self.tokens and {name: of.as_dict(self.token_limit) for name, of in self.tokens.items()},
            "studies_per_review": self.studies.as_dict(),
            "relevant_studies_per_review": self.relevant_studies.as_dict(),
        }
        return json.dumps(plain, ensure_ascii=False, indent=2) + "\n"


def review_statistics(
    documents: Iterable[Document],
    queries: Mapping[str, Query],
    judgments: Judgments,
    *,
    count_tokens: CountTokens | None = None,
    token_limit: int = 512,
) -> ReviewStatistics:
    """Read the documents once; rows without their review or document are counted as missing."""
    if token_limit < 1:
        raise ParameterError("token_limit", expected="a whole number from 1", found=token_limit)
    judged = {docno for grades in judgments.values() for docno in grades}
    sizes = _document_sizes((document for document in documents if document.id in judged), count_tokens)
    asked = {qid: query.text() for qid, query in queries.items() if qid in judgments}
    query_sizes = _sizes(asked, count_tokens)
    words: dict[str, Counter[int]] = {name: Counter() for name in (QUERY, TITLE, ABSTRACT)}
    tokens: dict[str, Counter[int]] = {name: Counter() for name in PAIRS}
    rows = relevant = missing = 0
    for qid, grades in judgments.items():
        for docno, grade in grades.items():
            if qid not in query_sizes or docno not in sizes:
                missing += 1
                continue
            rows, relevant = rows + 1, relevant + (grade > 0)
            own, query = sizes[docno], query_sizes[qid]
            words[QUERY][query.words] += 1
            for name, size in own.items():
                words[name][size.words] += 1
            for name, parts in PAIRS.items():
                read = [own[part].tokens for part in parts if part in own]
                if read:
                    tokens[name][query.tokens + sum(read) + SPECIAL_TOKENS] += 1
    studies = [grades.values() for grades in judgments.values() if grades]
    return ReviewStatistics(
        reviews=len(studies),
        rows=rows,
        relevant=relevant,
        missing=missing,
        documents=len(sizes),
        words={name: Lengths.of(of) for name, of in words.items()},
        tokens={name: Lengths.of(of) for name, of in tokens.items()} if count_tokens else None,
        token_limit=token_limit,
        studies=Lengths.of(Counter(map(len, studies))),
        relevant_studies=Lengths.of(Counter(sum(grade > 0 for grade in grades) for grades in studies)),
    )


def judgments_of(collection: Collection, split: str = ALL, reading: Reading | None = None) -> Judgments:
    """The judgments of one split, or of all splits together."""
    if split != ALL:
        return collection.judgments(split, reading)
    return Judgments(row for name in collection.splits for row in collection.judgments(name, reading).rows())


class _Size(NamedTuple):
    words: int
    tokens: int


def _document_sizes(documents: Iterable[Document], count_tokens: CountTokens | None) -> dict[str, dict[str, _Size]]:
    """Document -> field -> size, without empty fields."""
    sizes: dict[str, dict[str, _Size]] = {}
    rest = iter(documents)
    while batch := list(islice(rest, BATCH)):
        texts: dict[tuple[str, str], str] = {}
        for document in batch:
            sizes[document.id] = {}
            abstract = next((document.fields[name] for name in ABSTRACTS if name in document.fields), "")
            texts |= {(document.id, TITLE): document.fields.get(TITLE, ""), (document.id, ABSTRACT): abstract}
        filled = {key: text for key, text in texts.items() if text.strip()}
        for (docno, name), size in _sizes(filled, count_tokens).items():
            sizes[docno][name] = size
    return sizes


def _sizes(texts: Mapping[T, str], count_tokens: CountTokens | None) -> dict[T, _Size]:
    counted = count_tokens(list(texts.values())) if count_tokens else [0] * len(texts)
    return {key: _Size(len(texts[key].split()), tokens) for key, tokens in zip(texts, counted, strict=True)}


NO_TOKENIZER = "Token counts need a tokenizer: rankwell models add minilm-l6, or --tokenizer FOLDER."
ABOUT_ROWS = (
    "A row is a review with one of its studies, so that the title of a review with many studies counts many times. "
    "Pairs are what a cross-encoder reads: [CLS] query [SEP] document [SEP]; what lies beyond the limit is cut off."
)


def statistics_tables(statistics: ReviewStatistics) -> list[Table]:
    """The tables of counts and of lengths."""
    return [overview(statistics), lengths(statistics)]


def overview(statistics: ReviewStatistics) -> Table:
    """A table of counts and the balance of labels."""
    irrelevant = statistics.rows - statistics.relevant
    rows: list[tuple[str, Cell, Cell]] = [
        ("reviews", statistics.reviews, None),
        ("documents", statistics.documents, None),
        ("rows", statistics.rows, None),
        ("rows labelled relevant", statistics.relevant, statistics.percent_relevant),
        ("rows labelled not relevant", irrelevant, 100 * irrelevant / statistics.rows if statistics.rows else None),
    ]
    if statistics.missing:
        rows.append(("judgments whose review or document is not there", statistics.missing, None))
    return Table("Reviews", [Column("what", "left"), Column("count"), Column("% of rows", digits=1)], rows)


def lengths(statistics: ReviewStatistics) -> Table:
    """A table of words and tokens per part of a row, and of studies per review."""
    limit = statistics.token_limit
    columns = [Column("what", "left"), Column("unit", "left"), Column("mean", digits=1), Column("median", digits=1)]
    columns += [Column("largest"), Column(f"% over {limit}", digits=1)]
    lengths = [
        *((name, "words", of, None) for name, of in statistics.words.items()),
        *((name, "tokens", of, of.percent_over(limit)) for name, of in (statistics.tokens or {}).items()),
        ("review", "studies", statistics.studies, None),
        ("review", "relevant studies", statistics.relevant_studies, None),
    ]
    rows = [(name, unit, of.mean, of.median, of.largest, over) for name, unit, of, over in lengths]
    return Table("Lengths", columns, rows)


def statistics_pictures(statistics: ReviewStatistics) -> dict[str, Picture]:
    """Figures 3.2 to 3.7 of the systematic-review study, and the studies per review, where there are data."""
    pictures = {}

    def add(file: str, of: Lengths, title: str, x: str, *, y: str = "rows", limit: int | None = None) -> None:
        if of.counts:
            pictures[file] = histogram(of.values, counts=of.counts, title=title, x=x, y=y, limit=limit)

    for name, of in statistics.words.items():
        add(f"words-{name}", of, f"Words in the {name}", "words")
    for name, of in (statistics.tokens or {}).items():
        add(f"tokens-{name.replace(' + ', '-')}", of, f"Tokens of {name}", "tokens", limit=statistics.token_limit)
    if statistics.rows:
        labels = {"rows": [float(statistics.relevant), float(statistics.rows - statistics.relevant)]}
        pictures["labels"] = bars(["relevant", "not relevant"], labels, title="Labels", x="rows", digits=0)
    add("studies", statistics.studies, "Studies of a review", "studies", y="reviews")
    return pictures


def statistics_page(statistics: ReviewStatistics, title: str, command: str | None) -> Page:
    """The tables and pictures on one page."""
    pictures = statistics_pictures(statistics)
    parts: list[Part] = [Heading("What there is"), TablePart(overview(statistics))]
    parts += [PicturePart(pictures[name]) for name in ("labels", "studies") if name in pictures]
    parts += [Heading("How long it is"), Note(ABOUT_ROWS), TablePart(lengths(statistics))]
    parts += [PicturePart(picture) for name, picture in pictures.items() if name.startswith(("words", "tokens"))]
    if statistics.tokens is None:
        parts.append(Note(NO_TOKENIZER))
    return Page(title, parts, command)
