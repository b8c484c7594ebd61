"""A screening project in its database, with its records and their duplicates: all operations of pages and commands."""

from __future__ import annotations

import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from rankwell.collections.references import Reference
from rankwell.core import SILENT, ParameterError, Progress, RankwellError
from rankwell.reviews.screening import decisions, tables
from rankwell.reviews.screening.decisions import SET_ASIDE, Decisions, Outcomes, count_change
from rankwell.reviews.screening.duplicates import Duplicate, find_duplicates
from rankwell.reviews.screening.tables import DuplicateRow, ImportRow, ProjectRow, RecordRow, ReviewerRow, changing
from rankwell.store import Database, database_url, moment, open_database

MOST_REVIEWERS = 2
MOST_REASONS = 50
LONGEST_TITLE = 500
LONGEST_CRITERIA = 20_000
LONGEST_NAME = 80
REASONS = ("population", "intervention", "comparison", "outcome", "study design", "publication type")


@dataclass(frozen=True)
class Record:
    """A reference with its record number in the project."""

    id: int
    reference: Reference


class Records:
    """Read access to a project's records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self) -> int:
        """Number of records with duplicates: the highest record number, because numbers have no gap."""
        with self._database.read() as session:
            return session.scalar(select(func.max(RecordRow.id))) or 0

    def sources(self) -> list[ImportRow]:
        """The imported files."""
        with self._database.read() as session:
            return list(session.scalars(select(ImportRow).order_by(ImportRow.id)))

    def get(self, number: int) -> Record | None:
        """The record of that number, or None."""
        return next(iter(self.several([number])), None)

    def several(self, numbers: Sequence[int]) -> list[Record]:
        """The records of these numbers, in their order, without missing ones."""
        records = {record.id: record for record in self.all(RecordRow.id.in_(numbers))}
        return [records[number] for number in numbers if number in records]

    def all(self, *conditions: ColumnElement[bool]) -> list[Record]:
        """All records by number, or those that meet the conditions."""
        wanted = select(RecordRow.id, RecordRow.reference).where(*conditions).order_by(RecordRow.id)
        with self._database.read() as session:
            return [Record(number, _reference(stored)) for number, stored in session.execute(wanted)]

    def came_from(self) -> dict[int, str]:
        """Record number -> name of the imported file."""
        with self._database.read() as session:
            rows = select(RecordRow.id, ImportRow.name).join(ImportRow, RecordRow.source == ImportRow.id)
            return dict(session.execute(rows).all())

    def texts(self) -> list[str]:
        """Title and abstract of every record, in the order of their numbers."""
        with self._database.read() as session:
            rows = session.execute(select(RecordRow.title, RecordRow.abstract).order_by(RecordRow.id))
            return [f"{title}\n{abstract}".strip() for title, abstract in rows]

    def with_words(self, words: Iterable[str]) -> set[int]:
        """The records whose title, abstract, authors or journal hold all of these words, without case."""
        query = select(RecordRow.id)
        for word in words:
            columns = (RecordRow.title, RecordRow.abstract, RecordRow.reference["more_words"].as_string())
            query = query.where(or_(*(column.icontains(word, autoescape=True) for column in columns)))
        with self._database.read() as session:
            return set(session.scalars(query))


def _add_records(session: Session, name: str, references: Sequence[Reference], first: int) -> None:
    source = ImportRow(name=name, records=len(references), at=moment())
    session.add(source)
    session.flush()
    for number, of in enumerate(references, first):
        searched = " ".join((*of.authors, of.journal, *of.keywords, of.doi, of.pmid))  # beside title and abstract
        whole = {**asdict(of), "more_words": searched}
        session.add(RecordRow(id=number, source=source.id, title=of.title, abstract=of.abstract, reference=whole))
    session.flush()


def _reference(stored: dict[str, Any]) -> Reference:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    del values["more_words"]
    return Reference(**values | {"more": tuple((tag, value) for tag, value in values["more"])})


DOUBTFUL, APART = "to confirm", "kept apart"


class Duplicates:
    """The duplicates of a project. Certain ones are not screened; doubtful ones are until someone confirms them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[DuplicateRow]:
        """All duplicates, unconfirmed ones first, then by record."""
        with self._database.read() as session:
            pairs = session.scalars(select(DuplicateRow)).all()
        return sorted(pairs, key=lambda pair: (pair.state != DOUBTFUL, pair.record))

    def by_source(self) -> dict[int, Counter[str]]:
        """Number of duplicates of each imported file by state."""
        rows = select(RecordRow.source, DuplicateRow.state).join(RecordRow, DuplicateRow.record == RecordRow.id)
        counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
        with self._database.read() as session:
            for source, state in session.execute(rows):
                counts[source][state] += 1
        return dict(counts)

    def set_aside(self) -> frozenset[int]:
        """The numbers of the records that are not screened."""
        with self._database.read() as session:
            return frozenset(session.scalars(select(DuplicateRow.record).where(DuplicateRow.state == SET_ASIDE)))

    def judge(self, reviewer: int, record: int, *, same: bool) -> bool:
        """Confirm or reject a duplicate; False where the record is not on the list."""
        with changing(self._database) as session:
            row = session.get(DuplicateRow, record)
            if row is None:
                return False
            row.state, row.by, row.at = SET_ASIDE if same else APART, reviewer, moment()
            count_change(session)
        return True


def _add_duplicates(session: Session, duplicates: Iterable[Duplicate]) -> None:
    """Add duplicates within the caller's transaction; record numbers are their places plus 1."""
    aside = select(DuplicateRow.record, DuplicateRow.original).where(DuplicateRow.state == SET_ASIDE)
    known: dict[int, int] = dict(session.execute(aside).all())
    for pair in duplicates:
        original = known.get(pair.original + 1, pair.original + 1)
        state = SET_ASIDE if pair.certain else DOUBTFUL
        session.add(DuplicateRow(record=pair.copy + 1, original=original, why=pair.why, state=state, at=moment()))


class Reviewer(NamedTuple):
    """A reviewer's id and name."""

    id: int
    name: str


class Imported(NamedTuple):
    """Counts of an import: records, certain duplicates, and doubtful ones."""

    read: int
    duplicates: int
    doubtful: int


@dataclass(frozen=True)
class ProjectSettings:
    """A review's title, criteria and reasons of exclusion; the first ranking is by the title."""

    title: str
    criteria: str = ""
    reasons: tuple[str, ...] = REASONS

    def __post_init__(self) -> None:
        for name, longest in (("title", LONGEST_TITLE), ("criteria", LONGEST_CRITERIA)):
            length = len(getattr(self, name))
            if length > longest:
                raise ParameterError(name, expected=f"at most {longest:,} characters", found=length)
        if not self.title.strip():
            raise ParameterError("title", expected="what the review is about", found="nothing")
        if len(self.reasons) > MOST_REASONS or any(len(reason) > decisions.LONGEST_REASON for reason in self.reasons):
            expected = f"at most {MOST_REASONS} reasons of at most {decisions.LONGEST_REASON} characters"
            raise ParameterError("reasons", expected=expected, found=f"{len(self.reasons)}")


class Project:
    """A review's records, decisions and settings in its database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.records = Records(database)
        self.decisions = Decisions(database)
        self.duplicates = Duplicates(database)
        self.outcomes = Outcomes(database)
        self._importing = threading.Lock()
        with database.read() as session:
            self.key = session.scalars(select(ProjectRow.key)).one()

    @property
    def settings(self) -> ProjectSettings:
        """The current settings."""
        with self.database.read() as session:
            row = session.scalars(select(ProjectRow)).one()
            return ProjectSettings(row.title, row.criteria, tuple(row.reasons))

    def change(self, settings: ProjectSettings) -> None:
        """Change the settings; earlier decisions keep their reasons."""
        with self.database.write() as session:
            row = session.scalars(select(ProjectRow)).one()
            row.title, row.criteria, row.reasons = settings.title, settings.criteria, list(settings.reasons)

    def reviewers(self) -> list[Reviewer]:
        """All reviewers."""
        with self.database.read() as session:
            rows = session.scalars(select(ReviewerRow).order_by(ReviewerRow.id))
            return [Reviewer(row.id, row.name) for row in rows]

    def add_reviewer(self, name: str) -> None:
        """Add a reviewer, unless there is one of that name."""
        name = " ".join(name.split())
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise ParameterError("--reviewer", expected=f"a name of at most {LONGEST_NAME} characters", found=name)
        with changing(self.database) as session:
            known = list(session.scalars(select(ReviewerRow.name)))
            if name in known:
                return
            if len(known) >= MOST_REVIEWERS:
                found = ", ".join((*known, name))
                raise ParameterError("--reviewer", expected=f"at most {MOST_REVIEWERS} reviewers", found=found)
            session.add(ReviewerRow(name=name))

    def import_references(self, file: str, references: Sequence[Reference], progress: Progress = SILENT) -> Imported:
        """Add a file's records in one transaction, and find duplicates."""
        with self._importing:  # duplicates depend on the records imported before
            known = [record.reference for record in self.records.all()]
            duplicates = list(find_duplicates([*known, *references], len(known), progress))
            with changing(self.database) as session:
                if session.scalar(select(func.count()).select_from(RecordRow)) != len(known):
                    name = self.database.name
                    raise RankwellError(f"{name}: another program added records at the same time: try again")
                _add_records(session, file, references, len(known) + 1)
                _add_duplicates(session, duplicates)
        certain = sum(pair.certain for pair in duplicates)
        return Imported(len(references), certain, len(duplicates) - certain)

    def prisma(self) -> decisions.Prisma:
        """The counts of the PRISMA flow diagram."""
        sources = ((source.name, source.records) for source in self.records.sources())
        return decisions.prisma_counts(sources, len(self.duplicates.set_aside()), self.outcomes.all().values())

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_project(where: Path | str, *, title: str | None = None, reviewers: Sequence[str] = ()) -> Project:
    """Open or create a project: its file, or its `postgresql://` address; `title` and `reviewers` are added to it."""
    given = None if title is None else ProjectSettings(title)  # checked before a file is created
    if len(set(reviewers)) > MOST_REVIEWERS:
        raise ParameterError("--reviewer", expected=f"at most {MOST_REVIEWERS} reviewers", found=", ".join(reviewers))
    database = open_database(where, tables.PROJECT, create=True)
    with database.closed_on_error():
        with database.write() as session:
            if session.get(ProjectRow, 1) is None:
                name = Path(database_url(where).database or "").stem
                settings = given or ProjectSettings(name.replace("-", " ").replace("_", " ").strip() or "Review")
                values = {"title": settings.title, "criteria": "", "reasons": list(settings.reasons)}
                session.add(ProjectRow(id=1, key=secrets.token_hex(8), changes=0, created_at=moment(), **values))
        project = Project(database)
        if given is not None:
            now = project.settings
            project.change(ProjectSettings(given.title, now.criteria, now.reasons))
        for name in reviewers:
            project.add_reviewer(name)
        if not project.reviewers():
            project.add_reviewer("Reviewer")
    return project
