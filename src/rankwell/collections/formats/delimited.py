"""CSV and TSV tables with a header, as spreadsheets and review tools export them."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rankwell.collections.columns import IDS, TEXTS, ColumnChoice, choose_columns
from rankwell.collections.formats.jsonl import SAMPLE, Row, documents_of_rows
from rankwell.collections.lines import byte_lines, decoded
from rankwell.collections.reading import Reading
from rankwell.core.document import Document
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.files import atomic_write

KEPT_BACK = 1000  # documents looked at before the header of a new table is written


@dataclass(frozen=True)
class Delimited:
    """A table whose first line names the columns; quotes may hold separators and line breaks."""

    name: str
    delimiter: str
    suffixes: tuple[str, ...]

    def recognises(self, path: Path, start: str) -> bool:
        """Several columns in the first line, one of which has a name that an id or a text usually has."""
        if not path.is_file() or start.startswith(("{", "[", "<")):
            return False
        names = header(start, self.delimiter)
        return len(names) > 1 and bool({name.lower() for name in names} & {*IDS, *TEXTS})

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents of a table."""
        rows = table_rows(path, reading, self.delimiter)
        sample = list(islice(rows, SAMPLE))
        if not sample:
            return iter(())
        columns = choose_columns([row for _, row in sample], choice, str(path))
        return documents_of_rows(path, chain(sample, rows), columns, reading)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """The columns are the id, the fields and the metadata that the first thousand documents have."""
        following = iter(documents)
        first = list(islice(following, KEPT_BACK))
        names = ["id", *_names(document.fields for document in first), *_names(document.metadata for document in first)]
        if len(set(names)) < len(names):
            raise RankwellError(
                f"{path}: expected different names for the id, fields and metadata, found {', '.join(names)}"
            )
        write_table(
            path, names, (_cells(document, names, path) for document in chain(first, following)), self.delimiter
        )


CSV = Delimited("csv", ",", (".csv",))
SEMICOLON = Delimited("csv-semicolon", ";", ())
TSV = Delimited("tsv", "\t", (".tsv",))


def header(start: str, delimiter: str) -> list[str]:
    """The column names in a first line."""
    return next(csv.reader([start.partition("\n")[0].rstrip("\r")], delimiter=delimiter), [])


def table_rows(path: Path, reading: Reading, delimiter: str) -> Iterator[Row]:
    """Numbered rows as objects; a row with too few or too many columns is a problem."""
    csv.field_size_limit(sys.maxsize)  # a field may be a whole book
    lines = (
        text
        for number, line in enumerate(byte_lines(path, reading), 1)
        if (text := decoded(path, number, line, reading)) is not None
    )
    records = csv.reader(lines, delimiter=delimiter, strict=True)
    names = next(records, [])
    if len(set(names)) < len(names):
        raise FormatError(path, 1, expected="a different name for every column", found=", ".join(names))
    while True:
        number = records.line_num + 1
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            reading.problems.add(FormatError(path, number, expected="a row of the table", found=Phrase(f"{error}")))
            continue
        if len(cells) == len(names):
            yield number, dict(zip(names, cells, strict=True))
        elif cells:
            expected = f"{len(names)} columns ({', '.join(names)})"
            reading.problems.add(FormatError(path, number, expected=expected, found=Phrase(f"{len(cells)}")))


def write_table(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> None:
    """A header and rows, quoted where they must be."""
    with atomic_write(path) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
        text.flush()
        text.detach()


def _names(mappings: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _cells(document: Document, names: Sequence[str], path: Path) -> list[Any]:
    values = {"id": document.id, **document.metadata, **document.fields}
    unknown = values.keys() - set(names)
    if unknown:
        raise RankwellError(
            f"{path}: document {document.id!r} has {', '.join(sorted(unknown))}, which none of the "
            f"first {KEPT_BACK} documents has: write JSON lines instead"
        )
    return [values.get(name, "") for name in names]
