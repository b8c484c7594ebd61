"""Parquet tables, read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice, choose_columns
from rankwell.collections.formats.jsonl import SAMPLE, Row, documents_of_rows, flat_row
from rankwell.collections.reading import Reading
from rankwell.core.document import Document
from rankwell.core.errors import FormatError, MissingExtraError, Phrase
from rankwell.core.files import atomic_write

BATCH = 4096
MAGIC = "PAR1"


class Parquet:
    """A Parquet file with a row a document."""

    name = "parquet"
    suffixes = (".parquet", ".pq")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts as Parquet files do."""
        return path.is_file() and start.startswith(MAGIC)

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents of the table."""
        rows = _rows(path, reading)
        sample = list(islice(rows, SAMPLE))
        if not sample:
            return iter(())
        columns = choose_columns([row for _, row in sample], choice, str(path))
        return documents_of_rows(path, chain(sample, rows), columns, reading)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """A row a document: id, a column a field, and a struct `metadata`; written in batches."""
        arrow, parquet = _pyarrow()
        rows = map(flat_row, documents)
        with atomic_write(path) as file:
            writer = None
            while batch := list(islice(rows, BATCH)):
                table = arrow.Table.from_pylist(_same_keys(batch), schema=writer.schema if writer else None)
                writer = writer or parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
            if writer is None:
                parquet.write_table(arrow.table({"id": arrow.array([], arrow.string())}), file)
            else:
                writer.close()


def _rows(path: Path, reading: Reading) -> Iterator[Row]:
    arrow, parquet = _pyarrow()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            reading.progress.watch(lambda: number, file.metadata.num_rows)
            for batch in file.iter_batches(BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield number, _without_missing(row)
    except arrow.ArrowException as error:
        raise FormatError(path, None, expected="a Parquet file", found=Phrase(str(error).splitlines()[0])) from error


def _without_missing(row: dict[str, Any]) -> dict[str, Any]:
    if isinstance(row.get("metadata"), dict):  # a struct has every key in every row
        row["metadata"] = {name: value for name, value in row["metadata"].items() if value is not None}
    return {name: value for name, value in row.items() if value is not None}


def _same_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in which every key appears, since a Parquet schema is taken from the first batch."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", extra="parquet") from error
    return pyarrow, pyarrow.parquet
