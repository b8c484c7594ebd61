"""The statistics of a collection as tables, pictures and one HTML page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median
from typing import TYPE_CHECKING

from rankwell.report.document_statistics import TITLE, Lengths, YearStatistics
from rankwell.report.html import Heading, Note, Page, Part, PicturePart, TablePart, Text
from rankwell.report.pictures import Picture, bars, columns, histogram, stacked_bars
from rankwell.report.table import Cell, Column, Table

if TYPE_CHECKING:
    from rankwell.report.statistics import CollectionStatistics, JudgmentStatistics

# A longer table of topics is left out; the picture and the JSON have them all.
MOST_TOPICS = 100
MOST_YEARS_LISTED = 20

NO_TOKENIZER = "token counts need a tokenizer: rankwell models add minilm-l6, or --tokenizer FOLDER"
LENGTHS = [Column("text", "left"), Column("count"), Column("mean", digits=1), Column("median", digits=1), Column("max")]


def statistics_tables(statistics: CollectionStatistics) -> list[Table]:
    """The tables for which there are data."""
    tables = [overview_table(statistics), fields_table(statistics), words_table(statistics), tokens_table(statistics)]
    if statistics.judgments is not None and statistics.judgments.judgments:
        tables.append(grades_table(statistics.judgments))
        if len(statistics.judgments.per_topic) <= MOST_TOPICS:
            tables.append(topics_table(statistics.judgments))
    if statistics.years is not None:
        tables.append(years_table(statistics.years, statistics.documents))
    remarkable = examples_table(statistics)
    return [*tables, remarkable] if remarkable.rows else tables


def overview_table(statistics: CollectionStatistics) -> Table:
    """Counts, and what each is a share of."""
    rows: list[tuple[str, int, int | None, str]] = [
        ("documents", statistics.documents, None, ""),
        ("documents without any text", statistics.empty, statistics.documents, "documents"),
    ]
    copies = statistics.duplicates.copies
    rows.append(("documents that repeat an earlier one's text", copies, statistics.documents, "documents"))
    for field in statistics.fields:
        if field.name == statistics.main_field and field.beside_title:
            what = f"documents with an {field.name}" if field.name[0] in "aeiou" else f"documents with a {field.name}"
            shorter = f"documents whose {field.name} is shorter than their {TITLE}"
            rows.append((shorter, field.shorter_than_title, field.beside_title, f"{what} and a {TITLE}"))
    if (queries := statistics.queries) is not None:
        rows.append(("queries", queries.queries, None, ""))
        if queries.without_judgments is not None:
            rows.append(("queries without judgments", queries.without_judgments, queries.queries, "queries"))
    if (judged := statistics.judgments) is not None:
        rows += [
            ("judgments", judged.judgments, None, ""),
            ("topics with judgments", len(judged.per_topic), None, ""),
            ("documents judged at least once", judged.found, statistics.documents, "documents"),
            ("judged documents that are not in the collection", judged.missing, judged.documents, "judged documents"),
        ]
        if queries is not None and queries.without_query is not None:
            rows.append(("topics with judgments but no query", queries.without_query, len(judged.per_topic), "topics"))
    columns = [Column("what", "left"), Column("count"), Column("%", digits=1), Column("of", "left")]
    cells = [(what, count, None if of is None else _percent(count, of), whole) for what, count, of, whole in rows]
    return Table("Collection", columns, cells)


def fields_table(statistics: CollectionStatistics) -> Table:
    """Number of documents with each field, among all and among the judged ones."""
    columns = [Column("field", "left"), Column("documents"), Column("%", digits=1)]
    judged = statistics.judgments
    if judged is not None:
        columns += [Column("judged documents"), Column("% of judged", digits=1)]
    rows: list[list[Cell]] = []
    for field in statistics.fields:
        row: list[Cell] = [field.name, field.documents, _percent(field.documents, statistics.documents)]
        if judged is not None:
            row += [field.judged_documents, _percent(field.judged_documents, judged.found)]
        rows.append(row)
    return Table("Fields", columns, rows)


def words_table(statistics: CollectionStatistics) -> Table:
    """Whitespace-separated words of each field and each query text."""
    texts = [(field.name, field.words) for field in statistics.fields]
    if statistics.queries is not None:
        texts += [(f"queries: {name}", lengths) for name, lengths in statistics.queries.words.items()]
    return Table("Words", LENGTHS, [_length_row(name, lengths) for name, lengths in texts])


def tokens_table(statistics: CollectionStatistics) -> Table:
    """Tokens of each field, each query text and of query and document together, against the model's limit."""
    if not statistics.tokenized:
        return Table("Tokens", [Column("note", "left")], [[NO_TOKENIZER]])
    limit = statistics.token_limit
    texts = [(field.name, field.tokens) for field in statistics.fields]
    if statistics.queries is not None:
        texts += [(f"queries: {name}", lengths) for name, lengths in (statistics.queries.tokens or {}).items()]
    for pair in statistics.pairs:
        texts.append((f"{pair.name} ({'judged' if pair.judged else 'all'} pairs)", pair.tokens))
    rows = [
        (*_length_row(name, lengths), lengths.over(limit), lengths.percent_over(limit))
        for name, lengths in texts
        if lengths
    ]
    return Table("Tokens", [*LENGTHS, Column(f"over {limit}"), Column(f"% over {limit}", digits=1)], rows)


def grades_table(judged: JudgmentStatistics) -> Table:
    """The balance of the labels, over all topics and within them."""
    columns = [Column("grade", "left"), Column("judgments"), Column("%", digits=1), Column("topics with it")]
    columns += [Column("mean per topic", digits=1), Column("median per topic", digits=1), Column("max per topic")]
    rows = []
    for grade, count in judged.grades.items():
        per_topic = [of_topic.get(grade, 0) for of_topic in judged.per_topic.values()]
        having = sum(number > 0 for number in per_topic)
        share = _percent(count, judged.judgments)
        rows.append((str(grade), count, share, having, fmean(per_topic), median(per_topic), max(per_topic)))
    return Table("Grades", columns, rows)


def topics_table(judged: JudgmentStatistics) -> Table:
    """Number of documents of each grade for every topic."""
    columns = [Column("topic", "left"), *(Column(f"grade {grade}") for grade in judged.grades), Column("all")]
    rows: list[tuple[Cell, ...]] = [
        (qid, *(of_topic.get(grade, 0) for grade in judged.grades), sum(of_topic.values()))
        for qid, of_topic in judged.per_topic.items()
    ]
    return Table("Grades per topic", columns, rows)


def years_table(published: YearStatistics, documents: int) -> Table:
    """Documents by year, the latest ones singly."""
    known = sorted(published.documents)
    recent = known[-MOST_YEARS_LISTED:]
    counts = [(str(year), published.documents[year]) for year in reversed(recent)]
    if len(known) > len(recent):
        counts.append((f"before {recent[0]}", sum(published.documents[year] for year in known[:-MOST_YEARS_LISTED])))
    counts.append(("unknown", published.without))
    columns = [Column("year", "left"), Column("documents"), Column("%", digits=1)]
    return Table("Years", columns, [(year, count, _percent(count, documents)) for year, count in counts])


def examples_table(statistics: CollectionStatistics) -> Table:
    """Ids of documents and queries to check, because something may be wrong."""
    examples: list[tuple[str, Iterable[str]]] = [("no text", statistics.empty_examples)]
    examples += [("same text", group) for group in statistics.duplicates.examples]
    if statistics.judgments is not None:
        examples.append(("judged, not in the collection", statistics.judgments.missing_examples))
    if statistics.queries is not None:
        examples.append(("query without judgments", statistics.queries.without_judgments_examples))
        examples.append(("judgments without a query", statistics.queries.without_query_examples))
    columns = [Column("what", "left"), Column("for example", "left")]
    return Table("Ids to look at", columns, [(what, ", ".join(ids)) for what, ids in examples if ids])


def _length_row(name: str, lengths: Lengths) -> tuple[Cell, ...]:
    return (name, lengths.count, lengths.mean, lengths.median, lengths.largest)


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


ABOUT_TOKENS = (
    "Pairs are what a cross-encoder reads: [CLS] query [SEP] document [SEP], so each counts three tokens more than its "
    "texts. What lies beyond the limit would be cut off."
)


def statistics_page(statistics: CollectionStatistics, title: str, command: str | None) -> Page:
    """The page in sections: counts, lengths, judgments, and examples to check."""
    pictures = statistics.pictures()
    parts: list[Part] = [Heading("What there is"), TablePart(overview_table(statistics))]
    parts += [TablePart(fields_table(statistics)), *_pictures(pictures, "fields")]
    parts += [Heading("Length in words"), TablePart(words_table(statistics)), *_pictures(pictures, "words-")]
    parts.append(Heading("Length in tokens"))
    if statistics.tokenized:
        parts += [Text(ABOUT_TOKENS)] if statistics.pairs else []
        parts += [TablePart(tokens_table(statistics)), *_pictures(pictures, "tokens-")]
    else:
        parts.append(Note(f"{NO_TOKENIZER[0].upper()}{NO_TOKENIZER[1:]}"))
    judged = statistics.judgments
    if judged is not None and judged.judgments:
        parts += [Heading("Judgments"), TablePart(grades_table(judged)), *_pictures(pictures, "grades")]
        parts += [TablePart(topics_table(judged))] if len(judged.per_topic) <= MOST_TOPICS else []
    if statistics.years is not None:
        parts += [Heading("Years"), *_pictures(pictures, "years")]
        parts.append(TablePart(years_table(statistics.years, statistics.documents)))
    remarkable = examples_table(statistics)
    if remarkable.rows:
        parts += [Heading("Worth a look"), TablePart(remarkable)]
    return Page(title, parts, command)


def _pictures(pictures: dict[str, Picture], start: str) -> list[PicturePart]:
    return [PicturePart(picture) for name, picture in pictures.items() if name.startswith(start)]


# Up to so many topics keep the order of the qrels; more are sorted by size.
MOST_TOPICS_IN_ORDER = 80
# The oldest documents up to this share are not drawn, because they would stretch the axis.
OLDEST_SHARE = 0.01
MOST_YEARS = 60


def statistics_pictures(statistics: CollectionStatistics) -> dict[str, Picture]:
    """The pictures for which there are data, by name."""
    pictures: dict[str, Picture] = {}
    if statistics.documents and statistics.fields:
        pictures["fields"] = _fields(statistics)
    for unit, what, lengths, title, y in _lengths(statistics):
        if lengths is not None and lengths.counts:
            name = re.sub(r"[^\w.]+", "-", f"{unit}-{what}")  # safe as a file name
            limit = statistics.token_limit if unit == "tokens" else None
            pictures[name] = histogram(lengths.values, counts=lengths.counts, title=title, x=unit, y=y, limit=limit)
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
        judged = statistics.judgments.found
        shares["judged documents"] = [100 * field.judged_documents / judged for field in statistics.fields]
    return bars(names, shares, title="Documents with each field", x="% of documents", unit=" %")


def _lengths(statistics: CollectionStatistics) -> Iterator[tuple[str, str, Lengths | None, str, str]]:
    """Unit, name, lengths, title and y axis of all histograms: fields, queries, pairs."""
    for field in statistics.fields:
        yield "words", field.name, field.words, f"Words in {field.name}", "documents"
        yield "tokens", field.name, field.tokens, f"Tokens in {field.name}", "documents"
    asked = statistics.queries.words if statistics.queries else {}
    for name, words in asked.items():
        title = f"Words per query ({name})" if len(asked) > 1 else "Words per query"
        yield "words", f"query-{name}", words, title, "queries"
    for pair in statistics.pairs:
        yield "tokens", pair.name, pair.tokens, f"Tokens of {pair.name}", "judged pairs" if pair.judged else "pairs"


def _grades(judged: JudgmentStatistics) -> Picture:
    labels = [f"grade {grade}" for grade in judged.grades]
    return bars(labels, {"judgments": list(judged.grades.values())}, title="Judgments by grade", x="judgments")


def _grades_per_topic(judged: JudgmentStatistics) -> Picture:
    topics = list(judged.per_topic)
    axis = "topics"
    if len(topics) > MOST_TOPICS_IN_ORDER:
        # By the number of judgments, then of each grade.
        counts = {qid: [of.get(grade, 0) for grade in judged.grades] for qid, of in judged.per_topic.items()}
        topics.sort(key=lambda qid: (sum(counts[qid]), *counts[qid]), reverse=True)
        axis = "topics, the most judged first"
    amounts = {f"grade {grade}": [judged.per_topic[qid].get(grade, 0) for qid in topics] for grade in judged.grades}
    return stacked_bars(topics, amounts, title="Grades per topic", x=axis, y="judgments")


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
