"""The statistics of a collection on one page, tables and pictures side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwell.report import statistics_tables as tables
from rankwell.report.html import Page
from rankwell.report.html_parts import Heading, Note, Part, PicturePart, TablePart, Text

if TYPE_CHECKING:
    from rankwell.plots import Picture
    from rankwell.report.statistics import CollectionStatistics

ABOUT_TOKENS = (
    "Pairs are what a cross-encoder reads: [CLS] query [SEP] document [SEP], so each counts three tokens more than its "
    "texts. What lies beyond the limit would be cut off."
)


def statistics_page(statistics: CollectionStatistics, title: str, command: str | None) -> Page:
    """Section by section: what there is, how long it is, what was judged, and what to look at."""
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
