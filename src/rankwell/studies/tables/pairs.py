"""Judged pairs in figures: how long their texts are, how many are relevant (S3, figures 3.2 to 3.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rankwell.studies.cells import SHORT
from rankwell.studies.drawing import Bars, Drawing, Histogram
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Measured, blank
from rankwell.studies.study import TableEntry

COUNT, MEAN, MEDIAN, LARGEST, OVER, SHARE = ("count", "mean", "median", "largest", "% over {limit}", "% of pairs")
DIGITS = {COUNT: 0, LARGEST: 0}
NO_TOKENS = "tokens are not counted, because no model with a tokenizer is here: rankwell models add minilm-l6"


def pairs_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """A table for each collection."""
    found = []
    for described in measured.plan.described:
        if described.table == table.name:
            told = measured.store.record(described.cell)["statistics"]
            rows = tuple(_row(table, described.cell, name, figures) for name, figures in _figures(told))
            columns = [COUNT, SHARE, MEAN, MEDIAN, LARGEST, _over(told)]
            used = tuple(column for column in columns if any(column in row.figures for row in rows))
            made = blank(table, described.collection.name, told["reviews"])
            notes = () if told["tokens"] else (NO_TOKENS,)
            found.append(replace(made, columns=used, rows=rows, notes=notes, drawings=tuple(_drawings(told))))
    return found


def _row(table: TableEntry, cell: str, name: str, figures: Mapping[str, float | None]) -> ResultRow:
    published = table.published.get(name, {})
    told = {
        column: Figure(value, cell[:SHORT], published=published.get(column), digits=DIGITS.get(column, 1))
        for column, value in figures.items()
        if value is not None
    }
    return ResultRow(name, "", told)


def _figures(told: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float | None]]]:
    """Each row with its figures."""
    pairs = told["rows"]
    yield "queries", {COUNT: told["reviews"]}
    yield "documents", {COUNT: told["documents"]}
    yield "pairs", {COUNT: pairs}
    for name, count in (("relevant", told["relevant"]), ("not relevant", pairs - told["relevant"])):
        yield name, {COUNT: count, SHARE: 100 * count / pairs if pairs else None}
    for name, of in told["words"].items():
        yield f"words in the {name}", _lengths(of)
    for name, of in (told["tokens"] or {}).items():
        yield f"tokens of {name}", {**_lengths(of), _over(told): of["percent_over_limit"]}
    yield "judged documents of a query", _lengths(told["studies_per_review"])
    yield "relevant documents of a query", _lengths(told["relevant_studies_per_review"])


def _over(told: Mapping[str, Any]) -> str:
    limits = [of["limit"] for of in (told["tokens"] or {}).values()]
    return OVER.format(limit=limits[0]) if limits else OVER


def _lengths(of: Mapping[str, Any]) -> dict[str, float | None]:
    return {MEAN: of["mean"], MEDIAN: of["median"], LARGEST: of["max"]}


def _drawings(told: Mapping[str, Any]) -> Iterator[Drawing]:
    for name, of in told["words"].items():
        if of["counts"]:
            yield _histogram(f"words-{name}", f"Words in the {name}", "words", of)
    for name, of in (told["tokens"] or {}).items():
        if of["counts"]:
            yield _histogram(f"tokens-{name}", f"Tokens of {name}", "tokens", of, of["limit"])
    labels = {"relevant": float(told["relevant"]), "not relevant": float(told["rows"] - told["relevant"])}
    yield Bars("labels", "Labels", "pairs", series={"pairs": labels}, digits=0)


def _histogram(name: str, title: str, unit: str, of: Mapping[str, Any], limit: int | None = None) -> Histogram:
    return Histogram(name, title, unit, "pairs", tuple(of["lengths"]), tuple(of["counts"]), limit)
