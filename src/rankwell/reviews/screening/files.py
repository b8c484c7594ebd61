"""Import records from databases and reference managers; export decisions as RIS and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankwell.collections import Reading, open_collection
from rankwell.collections.references import Reference, doi_in, year_in
from rankwell.collections.tagged import ris_text
from rankwell.core import Document, RankwellError
from rankwell.reviews.references import read_references
from rankwell.reviews.screening.decisions import SET_ASIDE, Answer, Outcome
from rankwell.reviews.screening.store import Project, Reviewer

TEXTS = ("title", "abstract")


def read_records(source: Path | str, reading: Reading | None = None) -> list[Reference]:
    """The references of a file: RIS, PubMed's .nbib, a table with a column title, or a collection of any format."""
    try:
        records = read_references(source)
    except RankwellError as first:  # no such file, or of another format
        try:
            documents = open_collection(source).documents(reading or Reading())
            records = [reference_of(document) for document in documents]
        except RankwellError as error:
            raise first from error
    if not records:
        raise RankwellError(f"{source}: expected records, found none")
    return records


def reference_of(document: Document) -> Reference:
    """A document of a collection as a reference; texts other than title and abstract become part of the abstract."""
    told = {name: str(value).strip() for name, value in document.metadata.items() if value is not None}
    others = (text for name, text in document.fields.items() if name not in TEXTS)
    parts = (document.fields.get("abstract", ""), *others)
    return Reference(
        title=document.fields.get("title", ""),
        abstract="\n\n".join(part for part in parts if part.strip()),
        authors=tuple(part.strip() for part in told.get("authors", "").split(";") if part.strip()),
        year=year_in(told.get("year", "")) or year_in(told.get("date", "")),
        journal=told.get("journal", ""),
        doi=doi_in(told.get("doi", "")) or told.get("doi", ""),
        pmid=told.get("pmid", ""),
        url=told.get("url", ""),
        more=(("id", document.id),),
        source="collection",
    )


# A spreadsheet takes cells that begin so for formulas (OWASP, "CSV injection"), even after white space.
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
    """A record with its status, reason and answers."""

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
    """References with all their tags; status, reason and answers are notes (`N1`)."""
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
    """The cell with an apostrophe before it if a spreadsheet would take it for a formula."""
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
