"""The statistics of a collection of reviews as tables, pictures and one page."""

from __future__ import annotations

from rankwell.plots import Picture, bars, histogram
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart
from rankwell.report.lengths import Lengths
from rankwell.report.table import Cell
from rankwell.reviews.statistics import ReviewStatistics

NO_TOKENIZER = "Token counts need a tokenizer: rankwell models add minilm-l6, or --tokenizer FOLDER."
ABOUT_ROWS = (
    "A row is a review with one of its studies, so that the title of a review with many studies counts many times. "
    "Pairs are what a cross-encoder reads: [CLS] query [SEP] document [SEP]; what lies beyond the limit is cut off."
)


def statistics_tables(statistics: ReviewStatistics) -> list[Table]:
    """What there is, and how long it is."""
    return [overview(statistics), lengths(statistics)]


def overview(statistics: ReviewStatistics) -> Table:
    """Counts and the balance of labels."""
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
    """Words and tokens of the parts of a row, and studies of a review."""
    columns = [
        Column("what", "left"),
        Column("unit", "left"),
        Column("mean", digits=1),
        Column("median", digits=1),
        Column("largest"),
        Column(f"% over {statistics.token_limit}", digits=1),
    ]
    rows: list[tuple[Cell, ...]] = [_row(name, "words", of) for name, of in statistics.words.items()]
    for name, of in (statistics.tokens or {}).items():
        rows.append((*_row(name, "tokens", of)[:-1], of.percent_over(statistics.token_limit)))
    rows.append(_row("review", "studies", statistics.studies))
    rows.append(_row("review", "relevant studies", statistics.relevant_studies))
    return Table("Lengths", columns, rows)


def statistics_pictures(statistics: ReviewStatistics) -> dict[str, Picture]:
    """S3's figures 3.2 to 3.7, and the studies of a review; those without a row are left out."""
    pictures = {}
    for name, of in statistics.words.items():
        if of.counts:
            title = f"Words in the {name}"
            pictures[f"words-{name}"] = histogram(of.values, counts=of.counts, title=title, x="words", y="rows")
    for name, of in (statistics.tokens or {}).items():
        if of.counts:
            limit, title = statistics.token_limit, f"Tokens of {name}"
            file = f"tokens-{name.replace(' + ', '-')}"
            pictures[file] = histogram(of.values, counts=of.counts, title=title, x="tokens", y="rows", limit=limit)
    if statistics.rows:
        labels = {"rows": [float(statistics.relevant), float(statistics.rows - statistics.relevant)]}
        pictures["labels"] = bars(["relevant", "not relevant"], labels, title="Labels", x="rows", digits=0)
    if statistics.studies.counts:
        of = statistics.studies
        title = "Studies of a review"
        pictures["studies"] = histogram(of.values, counts=of.counts, title=title, x="studies", y="reviews")
    return pictures


def statistics_page(statistics: ReviewStatistics, title: str, command: str | None) -> Page:
    """Everything on one page."""
    pictures = statistics_pictures(statistics)
    parts: list[Part] = [Heading("What there is"), TablePart(overview(statistics))]
    parts += [PicturePart(pictures[name]) for name in ("labels", "studies") if name in pictures]
    parts += [Heading("How long it is"), Note(ABOUT_ROWS), TablePart(lengths(statistics))]
    parts += [PicturePart(picture) for name, picture in pictures.items() if name.startswith(("words", "tokens"))]
    if statistics.tokens is None:
        parts.append(Note(NO_TOKENIZER))
    return Page(title, parts, command)


def _row(name: str, unit: str, of: Lengths) -> tuple[Cell, ...]:
    return name, unit, of.mean, of.median, of.largest, None
