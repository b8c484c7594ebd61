"""The statistics of a collection as tables."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, median
from typing import TYPE_CHECKING

from rankwell.report.document_statistics import TITLE, Lengths
from rankwell.report.table import Cell, Column, Table

if TYPE_CHECKING:
    from rankwell.report.document_statistics import YearStatistics
    from rankwell.report.query_statistics import JudgmentStatistics
    from rankwell.report.statistics import CollectionStatistics


# A longer table of topics is left out; the picture and the JSON have them all.
MOST_TOPICS = 100
MOST_YEARS = 20

NO_TOKENIZER = "token counts need a tokenizer: rankwell models add minilm-l6, or --tokenizer FOLDER"


def statistics_tables(statistics: CollectionStatistics) -> list[Table]:
    """The tables for which there are data."""
    tables = [overview(statistics), fields(statistics), words(statistics), tokens(statistics)]
    if statistics.judgments is not None and statistics.judgments.judgments:
        tables.append(grades(statistics.judgments))
        if len(statistics.judgments.per_topic) <= MOST_TOPICS:
            tables.append(topics(statistics.judgments))
    if statistics.years is not None:
        tables.append(years(statistics.years, statistics.documents))
    remarkable = examples(statistics)
    return [*tables, remarkable] if remarkable.rows else tables


def overview(statistics: CollectionStatistics) -> Table:
    """Counts, and what each is a share of."""
    rows: list[tuple[str, int, int | None, str]] = [
        ("documents", statistics.documents, None, ""),
        ("documents without any text", statistics.empty, statistics.documents, "documents"),
        (
            "documents that repeat an earlier one's text",
            statistics.duplicates.copies,
            statistics.documents,
            "documents",
        ),
    ]
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


def fields(statistics: CollectionStatistics) -> Table:
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


def words(statistics: CollectionStatistics) -> Table:
    """Whitespace-separated words of each field and each query text."""
    columns = [
        Column("text", "left"),
        Column("count"),
        Column("mean", digits=1),
        Column("median", digits=1),
        Column("max"),
    ]
    texts = [(field.name, field.words) for field in statistics.fields]
    if statistics.queries is not None:
        texts += [(f"queries: {name}", lengths) for name, lengths in statistics.queries.words.items()]
    return Table("Words", columns, [_length_row(name, lengths) for name, lengths in texts])


def tokens(statistics: CollectionStatistics) -> Table:
    """Tokens of each field, each query text and of query and document together, against the model's limit."""
    if not statistics.tokenized:
        return Table("Tokens", [Column("note", "left")], [[NO_TOKENIZER]])
    limit = statistics.token_limit
    columns = [
        Column("text", "left"),
        Column("count"),
        Column("mean", digits=1),
        Column("median", digits=1),
        Column("max"),
        Column(f"over {limit}"),
        Column(f"% over {limit}", digits=1),
    ]
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
    return Table("Tokens", columns, rows)


def grades(judged: JudgmentStatistics) -> Table:
    """The balance of the labels, over all topics and within them."""
    columns = [
        Column("grade", "left"),
        Column("judgments"),
        Column("%", digits=1),
        Column("topics with it"),
        Column("mean per topic", digits=1),
        Column("median per topic", digits=1),
        Column("max per topic"),
    ]
    rows = []
    for grade, count in judged.grades.items():
        per_topic = judged.of_grade(grade)
        having = sum(number > 0 for number in per_topic)
        share = _percent(count, judged.judgments)
        rows.append((str(grade), count, share, having, fmean(per_topic), median(per_topic), max(per_topic)))
    return Table("Grades", columns, rows)


def topics(judged: JudgmentStatistics) -> Table:
    """Number of documents of each grade for every topic."""
    columns = [Column("topic", "left"), *(Column(f"grade {grade}") for grade in judged.grades), Column("all")]
    rows: list[tuple[Cell, ...]] = [
        (qid, *(of_topic.get(grade, 0) for grade in judged.grades), sum(of_topic.values()))
        for qid, of_topic in judged.per_topic.items()
    ]
    return Table("Grades per topic", columns, rows)


def years(published: YearStatistics, documents: int) -> Table:
    """Documents by year, the latest ones singly."""
    known = sorted(published.documents)
    recent = known[-MOST_YEARS:]
    counts = [(str(year), published.documents[year]) for year in reversed(recent)]
    if len(known) > len(recent):
        counts.append((f"before {recent[0]}", sum(published.documents[year] for year in known[:-MOST_YEARS])))
    counts.append(("unknown", published.without))
    columns = [Column("year", "left"), Column("documents"), Column("%", digits=1)]
    return Table("Years", columns, [(year, count, _percent(count, documents)) for year, count in counts])


def examples(statistics: CollectionStatistics) -> Table:
    """Ids of documents and queries to check, because something may be wrong."""
    found: list[tuple[str, Iterable[str]]] = [("no text", statistics.empty_examples)]
    found += [("same text", group) for group in statistics.duplicates.examples]
    if statistics.judgments is not None:
        found.append(("judged, not in the collection", statistics.judgments.missing_examples))
    if statistics.queries is not None:
        found.append(("query without judgments", statistics.queries.without_judgments_examples))
        found.append(("judgments without a query", statistics.queries.without_query_examples))
    columns = [Column("what", "left"), Column("for example", "left")]
    return Table("Ids to look at", columns, [(what, ", ".join(ids)) for what, ids in found if ids])


def _length_row(name: str, lengths: Lengths) -> tuple[Cell, ...]:
    return (name, lengths.count, lengths.mean, lengths.median, lengths.largest)


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
