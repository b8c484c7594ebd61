"""Reading and writing queries in any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from rankwell.collections.formats.beir import BeirQueries
from rankwell.collections.formats.msmarco import MsMarcoQueries
from rankwell.collections.formats.query_table import QueryTable
from rankwell.collections.formats.smart import SmartQueries
from rankwell.collections.formats.trec_topics import TrecTopics
from rankwell.collections.formats.trec_xml_topics import TrecXmlTopics
from rankwell.collections.guess import Format, for_writing, guessed, named
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, shown
from rankwell.core.query import Queries, Query


class QueryFormat(Format, Protocol):
    """A format of queries."""

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The queries."""

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """Write them all."""


QUERY_FORMATS: tuple[QueryFormat, ...] = (
    BeirQueries(),
    TrecTopics(),
    TrecXmlTopics(),
    SmartQueries("cranfield", running=True),
    SmartQueries(),
    QueryTable(),
    MsMarcoQueries(),
)


def read_queries(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Queries:
    """The queries of a file; each id once."""
    path, reading = Path(path), reading or Reading()
    known = named(format, QUERY_FORMATS, "queries") if format else guessed(path, QUERY_FORMATS, "queries")
    return Queries(once(known.read(path, reading), path, reading))


def write_queries(path: Path | str, queries: Queries, format: str | None = None) -> None:
    """Write queries in the named format, or in the one that files of this ending have."""
    path = Path(path)
    for_writing(path, format, QUERY_FORMATS, "queries").write(path, queries.values())


def once(queries: Iterable[Query], where: Path | str, reading: Reading) -> Iterator[Query]:
    """The queries; an id that comes again is a problem."""
    seen = set[str]()
    for query in queries:
        if query.id in seen:
            found = Phrase(f"{shown(query.id)} again")
            reading.problems.add(FormatError(where, reading.place.line, expected="each query id once", found=found))
            continue
        seen.add(query.id)
        yield query
