"""Decisions for others: RIS for reference managers, CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rankwell.reviews.reference import Reference
from rankwell.reviews.ris import ris_text
from rankwell.reviews.screening.answers import Answer
from rankwell.reviews.screening.store import Project, Reviewer
from rankwell.reviews.screening.store_decisions import SET_ASIDE
from rankwell.reviews.screening.store_outcomes import Outcome

# What a spreadsheet takes for the start of a formula (OWASP, "CSV injection"); white space before it does not help.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS = (
    *("record", "title", "authors", "year", "journal", "doi", "pmid", "url", "keywords", "abstract"),
    *("source", "status", "reason", "duplicate_of"),
)
WORDS = {Answer.INCLUDE: "included", Answer.EXCLUDE: "excluded", Answer.MAYBE: "maybe"}
OPEN, CONFLICT, DUPLICATE = "not screened", "conflict", "duplicate"
STATUSES = (*WORDS.values(), CONFLICT, OPEN, DUPLICATE)


@dataclass(frozen=True)
class Exported:
    """A record with what came of it."""

    number: int
    reference: Reference
    source: str
    status: str
    duplicate_of: int | None
    outcome: Outcome | None


def exported(project: Project, statuses: Sequence[str] = STATUSES) -> Iterator[Exported]:
    """The records with one of these statuses, in the order of their import."""
    outcomes, sources = project.outcomes.all(), project.records.came_from()
    copies = {pair.record: pair.original for pair in project.duplicates.all() if pair.state == SET_ASIDE}
    for record in project.records.all():
        outcome = outcomes.get(record.id)
        status = DUPLICATE if record.id in copies else _status(outcome)
        if status in statuses:
            original = copies.get(record.id)
            yield Exported(record.id, record.reference, sources[record.id], status, original, outcome)


def csv_export(project: Project, statuses: Sequence[str] = STATUSES) -> str:
    """A table: the record, its status and reason, and each reviewer's answer where all have answered."""
    reviewers = project.reviewers()
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    parts = ("decision", "reason", "note")
    table.writerow((*COLUMNS, *(_safe(f"{reviewer.name}: {part}") for reviewer in reviewers for part in parts)))
    for row in exported(project, statuses):
        table.writerow(_safe(cell) for cell in _cells(row, reviewers))
    return text.getvalue()


def ris_export(project: Project, statuses: Sequence[str] = STATUSES) -> str:
    """References with everything they came with; status, reason and answers are notes (`N1`)."""
    reviewers = project.reviewers()
    return "".join(ris_text(_noted(row, reviewers)) for row in exported(project, statuses))


def _status(outcome: Outcome | None) -> str:
    if outcome is None:
        return OPEN
    return CONFLICT if outcome.answer is None else WORDS[outcome.answer]


def _cells(row: Exported, reviewers: Sequence[Reviewer]) -> Iterator[str]:
    of = row.reference
    yield from (str(row.number), of.title, "; ".join(of.authors), str(of.year or ""), of.journal, of.doi, of.pmid)
    yield from (of.url, "; ".join(of.keywords), of.abstract, row.source, row.status)
    yield from (row.outcome.reason if row.outcome else "", str(row.duplicate_of or ""))
    for reviewer in reviewers:
        decision = row.outcome.decisions.get(reviewer.id) if row.outcome else None
        yield from (decision.answer, decision.reason, decision.note) if decision else ("", "", "")


def _safe(cell: str) -> str:
    """A cell that no spreadsheet runs: one that looks like a formula gets an apostrophe before it."""
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) else cell


def _noted(row: Exported, reviewers: Sequence[Reviewer]) -> Reference:
    notes = [f"Rankwell status: {row.status}"]
    if row.outcome is not None:
        notes += [f"Rankwell reason: {row.outcome.reason}"] if row.outcome.reason else []
        for reviewer in reviewers:
            given = row.outcome.decisions[reviewer.id]
            told = " | ".join(part for part in (given.answer, given.reason, given.note) if part)
            notes.append(f"Rankwell {reviewer.name}: {told}")
    if row.duplicate_of is not None:
        notes.append(f"Rankwell duplicate of record {row.duplicate_of}")
    more = row.reference.more if row.reference.source == "ris" else ()
    return replace(row.reference, source="ris", more=(*more, *(("N1", note) for note in notes)))
