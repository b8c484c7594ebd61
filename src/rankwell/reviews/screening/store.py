"""A screening project that is open: everything that the pages, the command and programs do with its file.

    project = open_project("review.screening", title="Exercise for depression")
    project.import_references("pubmed.nbib", read_records("pubmed.nbib")) -> Imported(read, duplicates, doubtful)
    project.settings, project.change(settings)        # title, criteria, reasons
    project.reviewers(), project.add_reviewer("Ada")

    project.records.get(7), .several([...]), .with_words(["fever"]), .sources()
    project.decisions.decide(reviewer, record, Answer.INCLUDE, reason, note), .undo(reviewer), .of(reviewer)
    project.duplicates.all(), .judge(reviewer, record, same=True)
    project.outcomes.all(), .resolve(reviewer, record, answer, reason)
    project.prisma() -> Prisma

All of it may be called from many threads at once.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from sqlalchemy import func, select

from rankwell.core import ParameterError, RankwellError
from rankwell.core.progress import SILENT, Progress
from rankwell.reviews.reference import Reference
from rankwell.reviews.screening.answers import LONGEST_REASON
from rankwell.reviews.screening.duplicates import find_duplicates
from rankwell.reviews.screening.prisma import Prisma, prisma_counts
from rankwell.reviews.screening.store_database import Database, moment, open_database
from rankwell.reviews.screening.store_decisions import Decisions
from rankwell.reviews.screening.store_duplicates import Duplicates, add_duplicates
from rankwell.reviews.screening.store_outcomes import Outcomes
from rankwell.reviews.screening.store_records import Records, add_records
from rankwell.reviews.screening.store_tables import ProjectRow, RecordRow, ReviewerRow

MOST_REVIEWERS = 2
MOST_REASONS = 50
LONGEST_TITLE = 500
LONGEST_CRITERIA = 20_000
LONGEST_NAME = 80
REASONS = ("population", "intervention", "comparison", "outcome", "study design", "publication type")


class Reviewer(NamedTuple):
    """Somebody who screens."""

    id: int
    name: str


class Imported(NamedTuple):
    """What came of an import: records read, set aside as duplicates, and perhaps duplicates."""

    read: int
    duplicates: int
    doubtful: int


@dataclass(frozen=True)
class Settings:
    """What the review is about; its title also tells the ranking where to start."""

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
    """One review's records and decisions."""

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
    def settings(self) -> Settings:
        """As they are now."""
        with self.database.read() as session:
            row = session.scalars(select(ProjectRow)).one()
            return Settings(row.title, row.criteria, tuple(row.reasons))

    def change(self, settings: Settings) -> None:
        """Other settings from now on; decisions keep the reasons they were given."""
        with self.database.write() as session:
            row = session.scalars(select(ProjectRow)).one()
            row.title, row.criteria, row.reasons = settings.title, settings.criteria, list(settings.reasons)

    def reviewers(self) -> list[Reviewer]:
        """Who screens."""
        with self.database.read() as session:
            rows = session.scalars(select(ReviewerRow).order_by(ReviewerRow.id))
            return [Reviewer(row.id, row.name) for row in rows]

    def add_reviewer(self, name: str) -> None:
        """Let somebody screen; nothing happens where they do already."""
        name = " ".join(name.split())
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise ParameterError("--reviewer", expected=f"a name of at most {LONGEST_NAME} characters", found=name)
        with self.database.write() as session:
            known = list(session.scalars(select(ReviewerRow.name)))
            if name in known:
                return
            if len(known) >= MOST_REVIEWERS:
                found = ", ".join((*known, name))
                raise ParameterError("--reviewer", expected=f"at most {MOST_REVIEWERS} reviewers", found=found)
            session.add(ReviewerRow(name=name))

    def import_references(self, name: str, references: Sequence[Reference], progress: Progress = SILENT) -> Imported:
        """Add a file's records, all of them or none, and look for those that are there already."""
        with self._importing:  # what is a duplicate depends on what came before
            known = [record.reference for record in self.records.all()]
            found = list(find_duplicates([*known, *references], len(known), progress))
            with self.database.write() as session:
                if session.scalar(select(func.count()).select_from(RecordRow)) != len(known):
                    raise RankwellError(
                        f"{self.database.path}: another program added records at the same time: try again"
                    )
                add_records(session, name, references, len(known) + 1)
                add_duplicates(session, found)
        certain = sum(pair.certain for pair in found)
        return Imported(len(references), certain, len(found) - certain)

    def prisma(self) -> Prisma:
        """The counts of the flow diagram."""
        sources = ((source.name, source.records) for source in self.records.sources())
        return prisma_counts(sources, len(self.duplicates.set_aside()), self.outcomes.all().values())

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_project(path: Path | str, *, title: str | None = None, reviewers: Sequence[str] = ()) -> Project:
    """Open a project, or make it where there is none; `title` and `reviewers` are added to what it has."""
    path = Path(path)
    given = None if title is None else Settings(title)  # refused before a file is made
    if len(set(reviewers)) > MOST_REVIEWERS:
        expected = f"at most {MOST_REVIEWERS} reviewers"
        raise ParameterError("--reviewer", expected=expected, found=", ".join(reviewers))
    database = open_database(path)
    try:
        with database.write() as session:
            if session.scalars(select(ProjectRow)).first() is None:
                settings = given or Settings(path.stem.replace("-", " ").replace("_", " ").strip() or "Review")
                session.add(
                    ProjectRow(
                        id=1,
                        key=secrets.token_hex(8),
                        title=settings.title,
                        criteria="",
                        reasons=list(settings.reasons),
                        changes=0,
                        created_at=moment(),
                    )
                )
        project = Project(database)
        if given is not None:
            now = project.settings
            project.change(Settings(given.title, now.criteria, now.reasons))
        for name in reviewers:
            project.add_reviewer(name)
        if not project.reviewers():
            project.add_reviewer("Reviewer")
    except BaseException:
        database.close()
        raise
    return project
