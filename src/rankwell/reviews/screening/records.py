"""The records of a project and their duplicates, in its database."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from rankwell.reviews.ris import Reference
from rankwell.reviews.screening.decisions import SET_ASIDE, count_change
from rankwell.reviews.screening.duplicates import Duplicate
from rankwell.reviews.screening.tables import DuplicateRow, ImportRow, RecordRow, changing
from rankwell.store import Database, moment


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
        records = {record.id: record for record in self._read(RecordRow.id.in_(numbers))}
        return [records[number] for number in numbers if number in records]

    def all(self) -> list[Record]:
        """All records by number."""
        return self._read()

    def _read(self, *conditions: ColumnElement[bool]) -> list[Record]:
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
        found = select(RecordRow.id)
        for word in words:
            columns = (RecordRow.title, RecordRow.abstract, RecordRow.reference["more_words"].as_string())
            found = found.where(or_(*(column.icontains(word, autoescape=True) for column in columns)))
        with self._database.read() as session:
            return set(session.scalars(found))


def add_records(session: Session, name: str, references: Sequence[Reference], first: int) -> None:
    """Add a file's references under the numbers from `first` on, within the caller's transaction."""
    source = ImportRow(name=name, records=len(references), at=moment())
    session.add(source)
    session.flush()
    session.add_all(
        RecordRow(id=first + place, source=source.id, title=of.title, abstract=of.abstract, reference=_stored(of))
        for place, of in enumerate(references)
    )
    session.flush()


def _stored(reference: Reference) -> dict[str, Any]:
    """The whole reference for the database; `more_words` is further text to be searched."""
    searched = " ".join((*reference.authors, reference.journal, *reference.keywords, reference.doi, reference.pmid))
    return {**asdict(reference), "more_words": searched}


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


def add_duplicates(session: Session, found: Iterable[Duplicate]) -> None:
    """Add duplicates within the caller's transaction; record numbers are their places plus 1."""
    aside = select(DuplicateRow.record, DuplicateRow.original).where(DuplicateRow.state == SET_ASIDE)
    known: dict[int, int] = dict(session.execute(aside).all())
    for pair in found:
        original = known.get(pair.original + 1, pair.original + 1)
        state = SET_ASIDE if pair.certain else DOUBTFUL
        session.add(DuplicateRow(record=pair.copy + 1, original=original, why=pair.why, state=state, at=moment()))
