"""A screening project in its database: all operations of pages, commands and the library."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from sqlalchemy import func, select

from rankwell.core import ParameterError, RankwellError
from rankwell.core.progress import SILENT, Progress
from rankwell.reviews.ris import Reference
from rankwell.reviews.screening.decisions import LONGEST_REASON, Decisions, Outcomes, Prisma, prisma_counts
from rankwell.reviews.screening.duplicates import find_duplicates
from rankwell.reviews.screening.records import Duplicates, Records, add_duplicates, add_records
from rankwell.reviews.screening.tables import PROJECT, ProjectRow, RecordRow, ReviewerRow, changing
from rankwell.store import Database, moment, open_database
from rankwell.store.database import database_url

MOST_REVIEWERS = 2
MOST_REASONS = 50
LONGEST_TITLE = 500
LONGEST_CRITERIA = 20_000
LONGEST_NAME = 80
REASONS = ("population", "intervention", "comparison", "outcome", "study design", "publication type")


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
        if len(self.reasons) > MOST_REASONS or any(len(reason) > LONGEST_REASON for reason in self.reasons):
            expected = f"at most {MOST_REASONS} reasons of at most {LONGEST_REASON} characters"
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
            found = list(find_duplicates([*known, *references], len(known), progress))
            with changing(self.database) as session:
                if session.scalar(select(func.count()).select_from(RecordRow)) != len(known):
                    name = self.database.name
                    raise RankwellError(f"{name}: another program added records at the same time: try again")
                add_records(session, file, references, len(known) + 1)
                add_duplicates(session, found)
        certain = sum(pair.certain for pair in found)
        return Imported(len(references), certain, len(found) - certain)

    def prisma(self) -> Prisma:
        """The counts of the PRISMA flow diagram."""
        sources = ((source.name, source.records) for source in self.records.sources())
        return prisma_counts(sources, len(self.duplicates.set_aside()), self.outcomes.all().values())

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
        expected = f"at most {MOST_REVIEWERS} reviewers"
        raise ParameterError("--reviewer", expected=expected, found=", ".join(reviewers))
    database = open_database(where, PROJECT, create=True)
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
