"""A comparison as one page: what came out, whether to believe it, and where the differences lie."""

from __future__ import annotations

from collections.abc import Mapping

from rankwell.evaluate.answer_types import AnswerType
from rankwell.evaluate.comparison import Comparison
from rankwell.evaluate.query_groups import by_answer_type, by_length
from rankwell.evaluate.significance import mark
from rankwell.report.comparison_pictures import (
    difference_pictures,
    first_relevant,
    grades_on_top,
    group_picture,
    known_groups,
    roc_picture,
    score_pictures,
    shown_measure,
)
from rankwell.report.comparison_tables import bounds_table, compact_table, grades_table, measure_tables
from rankwell.report.html import Page
from rankwell.report.html_parts import Heading, Note, Part, PicturePart, TablePart, Text


def comparison_page(
    comparison: Comparison,
    *,
    texts: Mapping[str, str] | None = None,
    answer_types: Mapping[str, AnswerType | None] | None = None,
    marks: str = "stars",
    command: str | None = None,
) -> Page:
    """The page. `texts` are the queries' words, for the results by length and answer type; `answer_types` overrides."""
    others = [run for run in comparison.evaluations if run != comparison.baseline]
    title = f"{', '.join(others)} against {comparison.baseline}" if others else comparison.baseline
    parts: list[Part] = [
        *_verdict(comparison, marks),
        Heading("Query by query"),
        *map(PicturePart, difference_pictures(comparison)),
        PicturePart(first_relevant(comparison)),
        Heading("Scores and grades"),
        TablePart(grades_table(comparison)),
        PicturePart(grades_on_top(comparison)),
        *([PicturePart(roc)] if (roc := roc_picture(comparison)) else []),
        *map(PicturePart, score_pictures(comparison)),
    ]
    if texts:
        parts += _by_group(comparison, texts, answer_types)
    return Page(title, parts, command)


def _verdict(comparison: Comparison, marks: str) -> list[Part]:
    test, evaluation = comparison.test, comparison.evaluations[comparison.baseline]
    corrected = "" if comparison.correction == "none" else f", corrected for several runs ({comparison.correction})"
    said = (
        f"{comparison.queries} queries; a query that a run lacks counts as 0. Differences are tested query by query "
        f"({test.name}{corrected}). {mark(marks).legend}"
    )
    return [
        Heading("What came out"),
        TablePart(compact_table(comparison, marks)),
        Text(said),
        *map(Note, comparison.warnings()),
        *map(TablePart, measure_tables(comparison, marks)),
        *([TablePart(bounds_table(comparison.evaluations))] if evaluation.bounds else []),
    ]


def _by_group(
    comparison: Comparison, texts: Mapping[str, str], answer_types: Mapping[str, AnswerType | None] | None
) -> list[Part]:
    measure, qids = shown_measure(comparison), comparison.evaluations[comparison.baseline].qids
    if measure is None:
        return []
    lengths = known_groups(by_length(texts), qids)
    types = known_groups(by_answer_type(texts, answer_types), qids)
    return [
        Heading("Kinds of queries"),
        *([PicturePart(group_picture(comparison, measure, lengths, "By query length"))] if lengths else []),
        *([PicturePart(group_picture(comparison, measure, types, "By answer type"))] if types else []),
    ]
