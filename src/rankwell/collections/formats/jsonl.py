"""JSON lines: one object a line, with a mapping from its keys to a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from rankwell.collections.columns import ColumnChoice, Columns, choose_columns, listed
from rankwell.collections.lines import byte_lines, decoded, output
from rankwell.collections.reading import Reading
from rankwell.core import Document, FormatError, Phrase, RankwellError

SAMPLE = 1000  # rows that a guess looks at

Row = tuple[int, dict[str, Any]]
T = TypeVar("T")


class JsonLines:
    """`{"id": "d1", "title": "...", "year": 2020}` a line."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson", ".json")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with a JSON object."""
        return path.is_file() and start.lstrip().startswith("{")

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents of a file."""
        return json_documents(path, reading, choice)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Write a flat object for each document: id, fields, and its metadata under `metadata`."""
        write_json_rows(path, map(flat_row, documents))


def json_documents(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of JSON lines, with columns chosen by the user or guessed from the first rows."""
    sample = list(islice(json_items(path, reading.unseen, lambda row, _: row), SAMPLE))
    columns = choose_columns(sample, choice, str(path)) if sample else Columns(None, {})
    return json_items(path, reading, columns.document)


def json_items(path: Path, reading: Reading, make: Callable[[dict[str, Any], int], T]) -> Iterator[T]:
    """The result of `make` for each object and its number; empty lines are skipped.

    A line that is no object, and an object for which `make` raises a ValueError, is a problem. One loop
    does it all, because this is where whole collections are read.
    """
    loads = orjson.loads if reading.is_utf8 else lambda line: orjson.loads(line.decode(reading.encoding))
    place, count = reading.place, 0
    for number, line in enumerate(byte_lines(path, reading), 1):
        try:
            row = loads(line)
        except ValueError as error:  # no JSON, or not in the encoding
            if line.strip() and decoded(path, number, line, reading) is not None:
                reading.problems.add(_no_object(path, number, line, f" ({error})"))
            continue
        if type(row) is not dict:
            reading.problems.add(_no_object(path, number, line))
            continue
        count += 1
        try:
            item = make(row, count)
        except ValueError as error:
            reading.problems.add(FormatError(path, number, expected=str(error), found=Phrase(_shape(row))))
            continue
        place.line = number
        yield item


def documents_of_table(path: Path, rows: Iterator[Row], choice: ColumnChoice, reading: Reading) -> Iterator[Document]:
    """The documents of rows, with columns chosen by the user or guessed from the first rows."""
    sample = list(islice(rows, SAMPLE))
    if not sample:
        return iter(())
    columns = choose_columns([row for _, row in sample], choice, str(path))
    return documents_of_rows(path, chain(sample, rows), columns, reading)


def documents_of_rows(path: Path, rows: Iterable[Row], columns: Columns, reading: Reading) -> Iterator[Document]:
    """The document of each row; a row without an id or with an invalid text is a problem."""
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
    """A document as one flat object."""
    clash = {"id", "metadata"} & set(document.fields)
    if clash:
        raise RankwellError(f"document {document.id!r}: a field named {clash.pop()!r} cannot be written as JSON lines")
    row: dict[str, Any] = {"id": document.id, **document.fields}
    if document.metadata:
        row["metadata"] = dict(document.metadata)
    return row


def write_json_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line."""
    with output(path) as file:
        for row in rows:
            try:
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY))
            except orjson.JSONEncodeError as error:
                name = row.get("id", row.get("_id"))
                raise RankwellError(f"{path}: {name!r} cannot be written as JSON: {error}") from error


def _no_object(path: Path, number: int, line: bytes, reason: str = "") -> FormatError:
    return FormatError(path, number, expected=f"a JSON object{reason}", found=line.rstrip(b"\r\n"))


def _shape(row: Mapping[str, Any]) -> str:
    """A row's keys and types of values, for an error."""
    kinds = {name: "empty" if value in ("", None) else type(value).__name__ for name, value in list(row.items())[:12]}
    return listed([f"{name} ({kind})" for name, kind in kinds.items()]) if kinds else "an empty object"
