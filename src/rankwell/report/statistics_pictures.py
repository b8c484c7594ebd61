"""The statistics of a collection as pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwell.plots import Picture, bars, columns, histogram, stacked_bars
from rankwell.report.lengths import Lengths

if TYPE_CHECKING:
    from rankwell.report.judgment_statistics import JudgmentStatistics
    from rankwell.report.statistics import CollectionStatistics

# Up to here topics stand in their own order, as in the qrels; more are sorted, which makes a skyline readable.
MOST_TOPICS_IN_ORDER = 80
# A few very old documents would squeeze all others into a corner: years before this share of all are not drawn.
OLDEST_SHARE = 0.01
MOST_YEARS = 60


@dataclass(frozen=True)
class _LengthPicture:
    """A histogram of lengths, before it is drawn."""

    unit: str
    what: str
    lengths: Lengths | None
    title: str
    limit: int | None = None
    texts: str = "documents"

    @property
    def file_name(self) -> str:
        """Only characters that are harmless in the name of a file, whatever a field is called."""
        return re.sub(r"[^\w.]+", "-", f"{self.unit}-{self.what}")

    def picture(self) -> Picture:
        """The histogram; call it only where there is something in it."""
        lengths = self.lengths or Lengths((), ())
        return histogram(
            lengths.values, counts=lengths.counts, title=self.title, x=self.unit, y=self.texts, limit=self.limit
        )


def statistics_pictures(statistics: CollectionStatistics) -> dict[str, Picture]:
    """All pictures for which there is something to draw, by name."""
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
    """What histograms there can be: words and tokens of fields, words of queries, tokens of pairs."""
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
    """A topic's number of judgments and then of each grade, so that columns of one height stand in order too."""
    grades = judged.per_topic[qid]
    return (sum(grades.values()), *(grades.get(grade, 0) for grade in judged.grades))


def _years(documents: Mapping[int, int]) -> Picture:
    """Documents by year; of a long history the end that holds nearly all of them."""
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
