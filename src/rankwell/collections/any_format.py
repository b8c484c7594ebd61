"""Read and write documents, queries, judgments and runs in any format, named by the user or detected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats.beir import BeirCorpus, BeirQrels, BeirQueries
from rankwell.collections.formats.cord19 import Cord19
from rankwell.collections.formats.delimited import CSV, SEMICOLON, TSV, QueryTable
from rankwell.collections.formats.folder import TextFolder
from rankwell.collections.formats.jsonl import JsonLines
from rankwell.collections.formats.msmarco import (
    DOCUMENTS,
    PASSAGES,
    MsMarcoCandidates,
    MsMarcoQueries,
    MsMarcoRun,
    MsMarcoTop1000,
)
from rankwell.collections.formats.parquet import Parquet
from rankwell.collections.formats.pubmed_xml import PubMedXml
from rankwell.collections.formats.smart import CLASSIC_QRELS, CRANFIELD_QRELS, SmartDocuments, SmartQueries
from rankwell.collections.formats.trec_documents import TrecDocuments
from rankwell.collections.formats.trec_qrels import TrecQrels
from rankwell.collections.formats.trec_run import TrecRun
from rankwell.collections.formats.trec_topics import TrecTopics, TrecXmlTopics
from rankwell.collections.lines import head
from rankwell.collections.reading import Reading
from rankwell.core import (
    Document,
    FormatError,
    Judgment,
    Judgments,
    ParameterError,
    Phrase,
    Queries,
    Query,
    RankwellError,
    Run,
    shown,
)


class Format(Protocol):
    """A file format: its name, its usual file endings, and how to recognise it."""

    @property
    def name(self) -> str:
        """The name that users give for it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The file endings that select it for a new file."""

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a file (with this start) or a folder is of this format."""


F = TypeVar("F", bound=Format)


def named(name: str, formats: Sequence[F], what: str) -> F:
    """The format of that name; an error suggests similar names."""
    for known in formats:
        if known.name == name:
            return known
    names = sorted({known.name for known in formats})
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ParameterError(f"format of {what}", expected=f"one of {', '.join(names)}{hint}", found=name)


def recognised(path: Path, formats: Sequence[F]) -> F | None:
    """The first format that recognises the file; of an empty file, by its ending."""
    if not path.exists():
        raise RankwellError(f"{path}: no such file or folder")
    start = head(path) if path.is_file() else ""
    if path.is_file() and not start.strip():
        return by_suffix(path, formats)
    return next((known for known in formats if known.recognises(path, start)), None)


def guessed(path: Path, formats: Sequence[F], what: str) -> F:
    """The detected format of an existing file; an error names the formats that were tried."""
    known = recognised(path, formats)
    if known is None:
        tried = ", ".join(sorted({known.name for known in formats}))
        found = _nothing(path) or _first_line(path)
        hint = "; name it with --format (--from in convert)" if what == "documents" else ""
        raise RankwellError(f"{path}: cannot tell the format of these {what}: tried {tried}, found {found}{hint}")
    return known


def _nothing(path: Path) -> str | None:
    if path.is_dir():
        return None if any(path.iterdir()) else "an empty folder"
    return None if head(path).strip() else "an empty file"


def _first_line(path: Path) -> str:
    """The first line of the file, for an error."""
    if path.is_dir():
        return "a folder without any of their files"
    number, line = next((number, line) for number, line in enumerate(head(path).splitlines(), 1) if line.strip())
    return f"{shown(line)} in line {number}"


def for_writing(path: Path, name: str | None, formats: Sequence[F], what: str) -> F:
    """The format for a new file: the named one, else by its ending."""
    if name is not None:
        return named(name, formats, what)
    known = by_suffix(path, formats)
    if known is None:
        endings = ", ".join(f"{suffix} ({known.name})" for known in formats for suffix in known.suffixes[:1])
        raise RankwellError(
            f"{path}: cannot tell from this name how to write {what}: use one of {endings}, or name the format"
        )
    return known


def by_suffix(path: Path, formats: Sequence[F]) -> F | None:
    """The first format whose files end like this one, gzipped or not."""
    name = path.name.removesuffix(".gz")
    return next((known for known in formats if any(name.endswith(suffix) for suffix in known.suffixes)), None)


GUESS = ColumnChoice()


class DocumentFormat(Format, Protocol):
    """A format for documents."""

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """Read the documents one at a time."""

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Write all of them to a file."""


# In the order in which they are tried: the most specific ones first.
DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    Cord19(),
    BeirCorpus(),
    Parquet(),
    JsonLines(),
    PubMedXml(),
    TrecDocuments(),
    SmartDocuments(),
    CSV,
    TSV,
    SEMICOLON,
    MsMarcoTop1000(),
    DOCUMENTS,
    PASSAGES,
    TextFolder(),
)


def read_documents(
    path: Path | str,
    format: str | None = None,
    *,
    columns: ColumnChoice = GUESS,
    reading: Reading | None = None,
) -> Iterator[Document]:
    """The documents of a file or folder, one at a time, in constant memory.

    The format is detected unless it is named. Ids are not checked for duplicates here (that would need
    memory for all of them): pass the result through `unique` where it matters.
    """
    path = Path(path)
    known = named(format, DOCUMENT_FORMATS, "documents") if format else guessed(path, DOCUMENT_FORMATS, "documents")
    return known.read(path, reading or Reading(), columns)


def write_documents(path: Path | str, documents: Iterable[Document], format: str | None = None) -> None:
    """Write documents in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, DOCUMENT_FORMATS, "documents").write(path, documents)


def unique(documents: Iterable[Document], reading: Reading, where: Path | str) -> Iterator[Document]:
    """The documents; a repeated id is a problem, and its document is left out."""
    seen: dict[str, int | None] = {}
    for document in documents:
        if document.id in seen:
            before = seen[document.id]
            first = f" (first on line {before})" if before else ""
            found = Phrase(f"{shown(document.id)} again{first}")
            reading.problems.add(
                FormatError(where, reading.place.line, expected="an id that was not there before", found=found)
            )
            continue
        seen[document.id] = reading.place.line
        yield document


class QueryFormat(Format, Protocol):
    """A format for queries."""

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """Read the queries."""

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """Write all of them to a file."""


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
    """Read the queries of a file in the named or detected format."""
    path, reading = Path(path), reading or Reading()
    known = named(format, QUERY_FORMATS, "queries") if format else guessed(path, QUERY_FORMATS, "queries")
    return Queries(once(known.read(path, reading), path, reading))


def write_queries(path: Path | str, queries: Queries, format: str | None = None) -> None:
    """Write queries in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, QUERY_FORMATS, "queries").write(path, queries.values())


def once(queries: Iterable[Query], where: Path | str, reading: Reading) -> Iterator[Query]:
    """The queries; a repeated id is a problem."""
    seen = set[str]()
    for query in queries:
        if query.id in seen:
            found = Phrase(f"{shown(query.id)} again")
            reading.problems.add(FormatError(where, reading.place.line, expected="each query id once", found=found))
            continue
        seen.add(query.id)
        yield query


class QrelsFormat(Format, Protocol):
    """A format for judgments."""

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """Read the judgments."""

    def write(self, path: Path, judgments: Judgments) -> None:
        """Write all of them to a file."""


QRELS_FORMATS: tuple[QrelsFormat, ...] = (BeirQrels(), CRANFIELD_QRELS, CLASSIC_QRELS, TrecQrels())


def read_qrels(
    path: Path | str,
    format: str | None = None,
    *,
    drop_negative: bool = False,
    reading: Reading | None = None,
) -> Judgments:
    """Read the judgments of a file in the named or detected format.

    A negative grade is kept (measures take it as not relevant) unless `drop_negative` says that it means "not judged",
    as the few -1 of TREC-COVID do. The same judgment twice counts once; two different grades are a problem.
    """
    path, reading = Path(path), reading or Reading()
    known = named(format, QRELS_FORMATS, "judgments") if format else guessed(path, QRELS_FORMATS, "judgments")
    rows = known.read(path, reading)
    return Judgments(consistent((row for row in rows if row.grade >= 0 or not drop_negative), path, reading))


def write_qrels(path: Path | str, judgments: Judgments, format: str | None = None) -> None:
    """Write judgments in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, QRELS_FORMATS, "judgments").write(path, judgments)


def consistent(rows: Iterable[Judgment], where: Path | str, reading: Reading) -> Iterator[Judgment]:
    """The judgments; a different second grade for the same document is a problem."""
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        before = seen.setdefault((row.qid, row.docno), row.grade)
        if before == row.grade:
            yield row
        else:
            expected = f"grade {before} again for query {shown(row.qid)} and document {shown(row.docno)}"
            reading.problems.add(
                FormatError(where, reading.place.line, expected=expected, found=Phrase(str(row.grade)))
            )


class RunFormat(Format, Protocol):
    """A format for runs."""

    def read(self, path: Path, reading: Reading) -> Run:
        """Read the run."""

    def write(self, path: Path, run: Run) -> None:
        """Write the run to a file."""


RUN_FORMATS: tuple[RunFormat, ...] = (MsMarcoCandidates(), TrecRun(), MsMarcoRun())


def read_run(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Run:
    """Read the run of a file in the named or detected format."""
    path = Path(path)
    known = named(format, RUN_FORMATS, "runs") if format else guessed(path, RUN_FORMATS, "runs")
    return known.read(path, reading or Reading())


def write_run(path: Path | str, run: Run, format: str | None = None) -> None:
    """Write a run in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, RUN_FORMATS, "a run").write(path, run)
