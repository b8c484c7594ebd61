"""Reading and writing documents in any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats.beir import BeirCorpus
from rankwell.collections.formats.cord19 import Cord19
from rankwell.collections.formats.delimited import CSV, SEMICOLON, TSV
from rankwell.collections.formats.folder import TextFolder
from rankwell.collections.formats.jsonl import JsonLines
from rankwell.collections.formats.msmarco import DOCUMENTS, PASSAGES, MsMarcoTop1000
from rankwell.collections.formats.parquet import Parquet
from rankwell.collections.formats.pubmed_xml import PubMedXml
from rankwell.collections.formats.smart import SmartDocuments
from rankwell.collections.formats.trec_documents import TrecDocuments
from rankwell.collections.guess import Format, for_writing, guessed, named
from rankwell.collections.reading import Reading
from rankwell.core.document import Document
from rankwell.core.errors import FormatError, Phrase, shown

GUESS = ColumnChoice()


class DocumentFormat(Format, Protocol):
    """A format of documents."""

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents, one at a time."""

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Write them all."""


# In the order in which they are asked whether a file is theirs: the choosy ones first.
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

    The format is guessed from the content unless it is named. Ids are not checked for doubles here (that would need
    memory for all of them): pass the result through `unique` where it matters.
    """
    path = Path(path)
    known = named(format, DOCUMENT_FORMATS, "documents") if format else guessed(path, DOCUMENT_FORMATS, "documents")
    return known.read(path, reading or Reading(), columns)


def write_documents(path: Path | str, documents: Iterable[Document], format: str | None = None) -> None:
    """Write documents in the named format, or in the one that files of this ending have."""
    path = Path(path)
    for_writing(path, format, DOCUMENT_FORMATS, "documents").write(path, documents)


def unique(documents: Iterable[Document], reading: Reading, where: Path | str) -> Iterator[Document]:
    """The documents; an id that comes again is a problem, and its document is left out."""
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
