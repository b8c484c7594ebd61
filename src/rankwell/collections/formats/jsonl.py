"""JSON lines: one object a line, with a mapping from its keys to a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections.columns import ColumnChoice, Columns, choose_columns
from rankwell.collections.lines import byte_lines
from rankwell.collections.reading import Reading
from rankwell.core.document import Document
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.files import atomic_write

SAMPLE = 1000  # rows that a guess looks at

Row = tuple[int, dict[str, Any]]


class JsonLines:
    """`{"id": "d1", "title": "...", "year": 2020}` a line."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson", ".json")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with a JSON object."""
        return path.is_file() and start.lstrip().startswith("{")

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents of a file."""
        rows = json_rows(path, reading)
        sample = list(islice(rows, SAMPLE))
        if not sample:
            return iter(())
        columns = choose_columns([row for _, row in sample], choice, str(path))
        return documents_of_rows(path, chain(sample, rows), columns, reading)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """A flat object a document: id, fields, and its metadata under `metadata`."""
        write_json_rows(path, map(flat_row, documents))


def json_rows(path: Path, reading: Reading) -> Iterator[Row]:
    """Numbered objects; empty lines are passed over, anything else that is not an object is a problem."""
    loads = orjson.loads
    for number, line in enumerate(byte_lines(path, reading), 1):
        try:
            row = loads(line)
        except orjson.JSONDecodeError as error:
            if line.strip():
                reading.problems.add(
                    FormatError(path, number, expected=f"a JSON object ({error})", found=line.rstrip(b"\r\n"))
                )
            continue
        if type(row) is dict:
            yield number, row
        else:
            reading.problems.add(FormatError(path, number, expected="a JSON object", found=line.rstrip(b"\r\n")))


def documents_of_rows(path: Path, rows: Iterable[Row], columns: Columns, reading: Reading) -> Iterator[Document]:
    """The document of each row; one that has no id or whose text is not text is a problem."""
    make, place = columns.document, reading.place
    for count, (number, row) in enumerate(rows, 1):
        try:
            document = make(row, count)
        except ValueError as error:
            reading.problems.add(FormatError(path, number, expected=str(error), found=Phrase(_shape(row))))
            continue
        place.line = number
        yield document


def flat_row(document: Document) -> dict[str, Any]:
    """A document as one object."""
    clash = {"id", "metadata"} & set(document.fields)
    if clash:
        raise RankwellError(f"document {document.id!r}: a field named {clash.pop()!r} cannot be written as JSON lines")
    row: dict[str, Any] = {"id": document.id, **document.fields}
    if document.metadata:
        row["metadata"] = dict(document.metadata)
    return row


def write_json_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line."""
    with atomic_write(path) as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY))


def _shape(row: Mapping[str, Any]) -> str:
    """A row's keys and kinds of values: enough to see what is wrong without printing a document."""
    return ", ".join(f"{name} ({type(value).__name__})" for name, value in list(row.items())[:12]) or "an empty object"
