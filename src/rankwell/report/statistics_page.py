"""The statistics of a collection as one HTML page with pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwell.report import statistics_tables as tables
from rankwell.report.document_statistics import Lengths
from rankwell.report.html import Heading, Note, Page, Part, PicturePart, TablePart, Text
from rankwell.report.pictures import Picture, bars, columns, histogram, stacked_bars

if TYPE_CHECKING:
    from rankwell.report.pictures import Picture
    from rankwell.report.query_statistics import JudgmentStatistics
    from rankwell.report.statistics import CollectionStatistics


ABOUT_TOKENS = (
    "Pairs are what a cross-encoder reads: [CLS] query [SEP] document [SEP], so each counts three tokens more than its "
    "texts. What lies beyond the limit would be cut off."
)


def statistics_page(statistics: CollectionStatistics, title: str, command: str | None) -> Page:
    """The page in sections: counts, lengths, judgments, and examples to check."""
    pictures = statistics.pictures()
    parts: list[Part] = [Heading("What there is"), TablePart(tables.overview(statistics))]
    parts += [TablePart(tables.fields(statistics)), *_pictures(pictures, "fields")]
    parts += [Heading("Length in words"), TablePart(tables.words(statistics)), *_pictures(pictures, "words-")]
    parts += _token_section(statistics, pictures)
    parts += _judgment_section(statistics, pictures)
    if statistics.years is not None:
        parts += [Heading("Years"), *_pictures(pictures, "years")]
        parts.append(TablePart(tables.years(statistics.years, statistics.documents)))
    remarkable = tables.examples(statistics)
    if remarkable.rows:
        parts += [Heading("Worth a look"), TablePart(remarkable)]
    return Page(title, parts, command)


def _token_section(statistics: CollectionStatistics, pictures: dict[str, Picture]) -> list[Part]:
    heading = Heading("Length in tokens")
    if not statistics.tokenized:
        return [heading, Note(f"{tables.NO_TOKENIZER[0].upper()}{tables.NO_TOKENIZER[1:]}")]
    table = TablePart(tables.tokens(statistics))
    return [heading, *([Text(ABOUT_TOKENS)] if statistics.pairs else []), table, *_pictures(pictures, "tokens-")]


def _judgment_section(statistics: CollectionStatistics, pictures: dict[str, Picture]) -> list[Part]:
    judged = statistics.judgments
    if judged is None or not judged.judgments:
        return []
    parts: list[Part] = [Heading("Judgments"), TablePart(tables.grades(judged)), *_pictures(pictures, "grades")]
    return [*parts, TablePart(tables.topics(judged))] if len(judged.per_topic) <= tables.MOST_TOPICS else parts


def _pictures(pictures: dict[str, Picture], start: str) -> list[PicturePart]:
    return [PicturePart(picture) for name, picture in pictures.items() if name.startswith(start)]


# Up to so many topics keep the order of the qrels; more are sorted by size.
MOST_TOPICS_IN_ORDER = 80
# The oldest documents up to this share are not drawn, because they would stretch the axis.
OLDEST_SHARE = 0.01
MOST_YEARS = 60


@dataclass(frozen=True)
class _LengthPicture:
    """The data of a histogram of lengths."""

    unit: str
    what: str
    lengths: Lengths | None
    title: str
    limit: int | None = None
    texts: str = "documents"

    @property
    def file_name(self) -> str:
        """The name of the field without characters that are unsafe in file names."""
        return re.sub(r"[^\w.]+", "-", f"{self.unit}-{self.what}")

    def picture(self) -> Picture:
        """Draw the histogram; there must be at least one length."""
        lengths = self.lengths or Lengths((), ())
        return histogram(
            lengths.values, counts=lengths.counts, title=self.title, x=self.unit, y=self.texts, limit=self.limit
        )


def statistics_pictures(statistics: CollectionStatistics) -> dict[str, Picture]:
    """The pictures for which there are data, by name."""
    pictures: dict[str, Picture] = {}
    if statistics.documents and statistics.fields:
        pictures["fields"] = _fields(statistics)
    for drawn in _lengths(statistics):
        if drawn.lengths is not None and drawn.lengths.counts:
            pictures[drawn.file_name] = drawn.picture()
    if statistics.judgments is not None and statistics.judgments.judgments:
        pictures["grades"] = _grades(statistics.judgments)
        pictures["grades-per-topic"] = _grades_per_topic(statistics.judgments)
    if statistics.years is not None:
        pictures["years"] = _years(statistics.years.documents)
    return pictures


def _fields(statistics: CollectionStatistics) -> Picture:
    """The share of documents with each field, among all and among the judged ones."""
    names = [field.name for field in statistics.fields]
    shares = {"all documents": [100 * field.documents / statistics.documents for field in statistics.fields]}
    if statistics.judgments is not None and statistics.judgments.found:
        found = statistics.judgments.found
        shares["judged documents"] = [100 * field.judged_documents / found for field in statistics.fields]
    return bars(names, shares, title="Documents with each field", x="% of documents", unit=" %")


def _lengths(statistics: CollectionStatistics) -> Iterator[_LengthPicture]:
    """All histograms: words and tokens of fields, words of queries, tokens of pairs."""
    limit = statistics.token_limit
    for field in statistics.fields:
        yield _LengthPicture("words", field.name, field.words, f"Words in {field.name}")
        yield _LengthPicture("tokens", field.name, field.tokens, f"Tokens in {field.name}", limit=limit)
    asked = statistics.queries.words if statistics.queries else {}
    for name, words in asked.items():
        title = f"Words per query ({name})" if len(asked) > 1 else "Words per query"
        yield _LengthPicture("words", f"query-{name}", words, title, texts="queries")
    for pair in statistics.pairs:
        texts = "judged pairs" if pair.judged else "pairs"
        yield _LengthPicture("tokens", pair.name, pair.tokens, f"Tokens of {pair.name}", limit=limit, texts=texts)


def _grades(judged: JudgmentStatistics) -> Picture:
    labels = [f"grade {grade}" for grade in judged.grades]
    return bars(labels, {"judgments": list(judged.grades.values())}, title="Judgments by grade", x="judgments")


def _grades_per_topic(judged: JudgmentStatistics) -> Picture:
    topics = list(judged.per_topic)
    axis = "topics"
    if len(topics) > MOST_TOPICS_IN_ORDER:
        topics.sort(key=lambda qid: _size_and_grades(judged, qid), reverse=True)
        axis = "topics, the most judged first"
    amounts = {f"grade {grade}": [judged.per_topic[qid].get(grade, 0) for qid in topics] for grade in judged.grades}
    return stacked_bars(topics, amounts, title="Grades per topic", x=axis, y="judgments")


def _size_and_grades(judged: JudgmentStatistics, qid: str) -> tuple[int, ...]:
    """Sort key: a topic's number of judgments, then of each grade."""
    grades = judged.per_topic[qid]
    return (sum(grades.values()), *(grades.get(grade, 0) for grade in judged.grades))


def _years(documents: Mapping[int, int]) -> Picture:
    """Documents by year, without the few oldest."""
    years = sorted(documents)
    first = years[0]
    if years[-1] - first > MOST_YEARS:
        allowed = OLDEST_SHARE * sum(documents.values())
        for year in years:
            allowed -= documents[year]
            if allowed < 0:
                first = year
                break
    left_out = sum(count for year, count in documents.items() if year < first)
    title = "Year of publication" + (f" ({left_out:,} before {first} not shown)" if left_out else "")
    return columns({year: documents[year] for year in years if year >= first}, title=title, x="year")
