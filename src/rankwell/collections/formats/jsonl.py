"""JSON lines and Parquet: an object or a row a document, with a mapping from its keys to a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from rankwell.collections.columns import ColumnChoice, unfolded
from rankwell.collections.format import DocumentFormat
from rankwell.collections.formats.json_values import UNFOLDED, flat, is_nested
from rankwell.collections.reading import Reading, byte_lines, decoded, output
from rankwell.collections.tables import SAMPLE, Row, columns_of_table, documents_of_table, shape
from rankwell.core import Document, FormatError, MissingExtraError, Phrase, RankwellError, atomic_write

BATCH = 4096

T = TypeVar("T")


def json_documents(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of JSON lines, with columns chosen by the user or guessed from the first rows."""
    sample = list(islice(json_items(path, reading.unseen, lambda row, _: row), SAMPLE))
    nested = {name for row in sample for name, value in row.items() if is_nested(value)} - UNFOLDED
    texts = {name for row in sample for name in nested & row.keys() if isinstance(row[name], str)}
    kept = UNFOLDED | texts  # an object where other rows have a text is a bad record
    rows = [flat(row, kept) for row in sample] if nested else sample
    columns = columns_of_table(path, rows, choice, reading, typed=True, details=["JSON lines"])
    make = columns.document
    return json_items(path, reading, (lambda row, number: make(flat(row, kept), number)) if nested else make)


def json_items(path: Path, reading: Reading, make: Callable[[dict[str, Any], int], T]) -> Iterator[T]:
    """The result of `make` for each object and its number; empty lines are skipped.

    A line that is no object, and an object for which `make` raises a ValueError, is a problem. One loop
    does it all, because this is where whole collections are read.
    """
    loads = orjson.loads if reading.is_utf8 else lambda line: orjson.loads(line.decode(reading.codec))
    place, count = reading.place, 0
    for number, line in enumerate(byte_lines(path, reading), 1):
        try:
            row = loads(line)
        except ValueError as error:  # no JSON, or not in the encoding
            if line.strip() and decoded(path, number, line, reading) is not None:
                reading.report(path, number, f"a JSON object ({error})", line.rstrip(b"\r\n"))
            continue
        if type(row) is not dict:
            reading.report(path, number, "a JSON object", line.rstrip(b"\r\n"))
            continue
        count += 1
        try:
            item = make(row, count)
        except ValueError as error:
            reading.report(path, number, str(error), Phrase(shape(row)))
            continue
        place.line = number
        yield item


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


# `{"id": "d1", "title": "...", "year": 2020}` a line: id, fields, and the metadata, flat or under `metadata`.
JSON_LINES = DocumentFormat(
    "jsonl",
    lambda _, start: start.lstrip().startswith("{"),
    json_documents,
    lambda path, documents: write_json_rows(path, map(flat_row, documents)),
    (".jsonl", ".ndjson", ".json"),
)


def _read_parquet(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    return documents_of_table(path, _parquet_rows(path, reading), choice, reading, typed=True, details=["Parquet"])


def _parquet_rows(path: Path, reading: Reading) -> Iterator[Row]:
    arrow, parquet = _pyarrow()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            reading.progress.watch(lambda: number, file.metadata.num_rows)
            for batch in file.iter_batches(BATCH):
                for row in batch.to_pylist():
                    number += 1
                    if isinstance(row.get("metadata"), dict):  # a struct has every key in every row
                        row["metadata"] = _present(row["metadata"])
                    yield number, _present(row)
    except (arrow.ArrowException, OSError) as error:
        reason = Phrase(f"one that cannot be read ({str(error).partition(chr(10))[0]})")
        raise FormatError(path, None, expected="a Parquet file", found=reason) from error


def _present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _write_parquet(path: Path, documents: Iterable[Document]) -> None:
    """Write a row for each document: id, fields and a struct `metadata`; the first batch determines the columns."""
    arrow, parquet = _pyarrow()
    rows = map(flat_row, documents)
    first = list(islice(rows, BATCH))
    with atomic_write(path) as file:
        try:
            table = arrow.Table.from_pylist(_same_keys(first)) if first else arrow.table({"id": ["none"]})[:0]
            with parquet.ParquetWriter(file, table.schema) as writer:
                writer.write_table(table)
                while batch := list(islice(rows, BATCH)):
                    _check_keys(path, batch, first)
                    writer.write_table(arrow.Table.from_pylist(_same_keys(batch), schema=table.schema))
        except (arrow.ArrowException, UnicodeEncodeError) as error:
            reason = str(error).partition("\n")[0]
            raise RankwellError(f"{path}: these documents do not make columns of one type: {reason}") from error


def _same_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with all keys of any of them, because the first batch determines Parquet's schema."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _check_keys(path: Path, rows: list[dict[str, Any]], first: list[dict[str, Any]]) -> None:
    """Raise an error where a row has a key that the first batch lacks: Parquet would silently drop it."""
    known = {name for row in first for name in unfolded(row)}
    for row in rows:
        unknown = unfolded(row).keys() - known
        if unknown:
            raise RankwellError(
                f"{path}: document {row['id']!r} has {', '.join(sorted(unknown))}, which none of the "
                f"first {BATCH} documents has: write JSON lines instead"
            )


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", extra="parquet") from error
    return pyarrow, pyarrow.parquet


PARQUET = DocumentFormat(
    "parquet", lambda _, start: start.startswith("PAR1"), _read_parquet, _write_parquet, (".parquet", ".pq")
)
