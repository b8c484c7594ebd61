"""Parquet tables, read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice, unfolded
from rankwell.collections.formats.jsonl import Row, documents_of_table, flat_row
from rankwell.collections.reading import Reading
from rankwell.core import Document, FormatError, MissingExtraError, Phrase, RankwellError, atomic_write

BATCH = 4096
MAGIC = "PAR1"


class Parquet:
    """A Parquet file with a row a document."""

    name = "parquet"
    suffixes = (".parquet", ".pq")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with Parquet's magic bytes."""
        return path.is_file() and start.startswith(MAGIC)

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents of the table."""
        return documents_of_table(path, _rows(path, reading), choice, reading)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
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
    except (arrow.ArrowException, OSError) as error:
        reason = Phrase(f"one that cannot be read ({str(error).partition(chr(10))[0]})")
        raise FormatError(path, None, expected="a Parquet file", found=reason) from error


def _without_missing(row: dict[str, Any]) -> dict[str, Any]:
    if isinstance(row.get("metadata"), dict):  # a struct has every key in every row
        row["metadata"] = {name: value for name, value in row["metadata"].items() if value is not None}
    return {name: value for name, value in row.items() if value is not None}


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
