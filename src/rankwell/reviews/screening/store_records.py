"""The records of a project: what was imported, and how it is found again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from rankwell.reviews.reference import Reference
from rankwell.reviews.screening.store_database import Database, moment
from rankwell.reviews.screening.store_tables import ImportRow, RecordRow


@dataclass(frozen=True)
class Record:
    """A reference with its number in the project."""

    id: int
    reference: Reference


class Source(NamedTuple):
    """A file that was imported."""

    id: int
    name: str
    records: int
    at: str


class Records:
    """Reading records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self) -> int:
        """How many there are, duplicates included: their numbers have no gap, and counting would read them all."""
        with self._database.read() as session:
            return session.scalar(select(func.max(RecordRow.id))) or 0

    def sources(self) -> list[Source]:
        """The files that were imported."""
        with self._database.read() as session:
            rows = session.scalars(select(ImportRow).order_by(ImportRow.id))
            return [Source(row.id, row.name, row.records, row.at) for row in rows]

    def get(self, number: int) -> Record | None:
        """One record."""
        return next(iter(self.several([number])), None)

    def several(self, numbers: Sequence[int]) -> list[Record]:
        """Records in the order of these numbers; those that are not there are left out."""
        with self._database.read() as session:
            rows = session.execute(select(RecordRow.id, RecordRow.reference).where(RecordRow.id.in_(numbers)))
            found: dict[int, dict[str, Any]] = dict(rows.all())
        return [Record(number, _reference(found[number])) for number in numbers if number in found]

    def all(self) -> list[Record]:
        """Every record."""
        with self._database.read() as session:
            rows = session.execute(select(RecordRow.id, RecordRow.reference).order_by(RecordRow.id))
            return [Record(number, _reference(stored)) for number, stored in rows]

    def came_from(self) -> dict[int, str]:
        """For every record the name of the file that it was imported from."""
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
    """The whole reference, so that an export loses nothing; `more_words` is what a search looks at besides."""
    searched = " ".join((*reference.authors, reference.journal, *reference.keywords, reference.doi, reference.pmid))
    return {**asdict(reference), "more_words": searched}


def _reference(stored: dict[str, Any]) -> Reference:
    values = {name: value for name, value in stored.items() if name != "more_words"}
    for name in ("authors", "keywords"):
        values[name] = tuple(values[name])
    values["more"] = tuple((tag, value) for tag, value in values["more"])
    return Reference(**values)
