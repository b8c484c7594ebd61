"""CSV and TSV tables with a header, of documents or of queries."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rankwell.collections.columns import IDS, TEXTS, ColumnChoice, choose_columns, listed
from rankwell.collections.formats.jsonl import SAMPLE, Row, documents_of_rows
from rankwell.collections.lines import byte_lines, head, not_in_encoding, output
from rankwell.collections.reading import Problems, Reading
from rankwell.core import Document, FormatError, Phrase, Query, RankwellError

DELIMITERS = ",\t;"
LONGEST_NAME = 100  # characters of a column's name at most
LONGEST_FIELD = 2**31 - 1  # characters; more than fits in a C long on some machines is refused
# Numbers as programs write them: no leading zeros, an exponent only with its sign, at most the digits of 64 bits.
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,20}(e[+-][0-9]{2,3})?|e[+-][0-9]{2,3})?")
CODE = re.compile(r"[+-]?0[0-9]+")
KEPT_BACK = 1000  # documents that determine the header of a new table


@dataclass(frozen=True)
class Delimited:
    """A table whose first line names the columns; quotes may hold separators and line breaks."""

    name: str
    delimiter: str
    suffixes: tuple[str, ...]

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the first line has several columns with short names, one of them usual for an id or a text."""
        if not path.is_file() or start.startswith(("{", "[", "<")):
            return False
        names = header(start, self.delimiter)
        most = max(len(header(start, delimiter)) for delimiter in DELIMITERS)
        plausible = 1 < len(names) == most and all(len(name) <= LONGEST_NAME and "\t" not in name for name in names)
        return plausible and bool({name.lower() for name in names} & {*IDS, *TEXTS})

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents of a table; columns of numbers become numbers where they are metadata."""
        rows = table_rows(path, reading, self.delimiter)
        sample = list(islice(rows, SAMPLE))
        if not sample:
            return iter(())
        columns = choose_columns([row for _, row in sample], choice, str(path))
        numeric = _columns_of_numbers([row for _, row in sample], {columns.id, *columns.fields.values()})
        with_numbers = (_with_numbers(row, numeric) for row in chain(sample, rows))
        return documents_of_rows(path, with_numbers, columns, reading)

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
    """The column names in a first line; none where it is not a table's."""
    line = start.partition("\n")[0].rstrip("\r")
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def table_rows(path: Path, reading: Reading, delimiter: str) -> Iterator[Row]:
    """Numbered rows as objects; a row with too few or too many columns is a problem."""
    names: list[str] = []
    with closing(_records(path, reading, delimiter)) as records:
        for number, cells in records:
            if not names:
                names = [name.strip() or f"column {place}" for place, name in enumerate(cells, 1)]
                if len(set(names)) < len(names):
                    raise FormatError(
                        path, number, expected="a different name for every column", found=Phrase(listed(names))
                    )
            elif len(cells) == len(names):
                yield number, dict(zip(names, cells, strict=True))
            elif cells:
                expected = f"{len(names)} columns ({listed(names)})"
                reading.problems.add(FormatError(path, number, expected=expected, found=Phrase(f"{len(cells)}")))
    if not names:
        raise FormatError(path, 1, expected="a header that names the columns", found=Phrase("an empty file"))


def _records(path: Path, reading: Reading, delimiter: str) -> Generator[tuple[int, list[str]]]:
    """The cells of each record with its first line; an unreadable record is a problem and left out.

    A quote that is never closed would swallow the rest of the file: only its own line is left out, and reading goes on
    with the next. Lines are fed to the parser one at a time, so that we know which ones a record consists of.
    """
    # A field may be a whole book. The limit is global, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    numbered = enumerate(byte_lines(path, reading), 1)
    again: list[tuple[int, bytes]] = []
    taken: list[tuple[int, bytes]] = []
    wrong: list[FormatError] = []
    problems = Problems()  # a missing header is always an error

    def lines() -> Iterator[str]:
        while (line := again.pop() if again else next(numbered, None)) is not None:
            taken.append(line)
            try:
                yield line[1].decode(reading.encoding)
            except UnicodeDecodeError as error:
                wrong.append(not_in_encoding(path, line[0], error, reading))
                yield line[1].decode(reading.encoding, errors="replace")

    records = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        wrong.clear()
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            number, unclosed = taken[0][0], str(error) == "unexpected end of data"
            found = Phrase("a quote that is never closed" if unclosed else f"{error}")
            problems.add(FormatError(path, number, expected="a row of the table", found=found))
            if unclosed:
                again.extend(reversed(taken[1:]))
                records = csv.reader(lines(), delimiter=delimiter, strict=True)
            continue
        if not wrong:
            problems = reading.problems if cells else problems
            yield taken[0][0], cells
        while wrong:
            problems.add(wrong.pop(0))


def _columns_of_numbers(rows: Sequence[Mapping[str, str]], others: set[str | None]) -> list[str]:
    """The columns in which most values are numbers; one with a value such as 007 holds codes, which stay text."""
    found = []
    for name in rows[0]:
        values = [value for row in rows if (value := row[name])]
        numbers = sum(NUMBER.fullmatch(value) is not None for value in values)
        if name not in others and 2 * numbers > len(values) and not any(CODE.fullmatch(value) for value in values):
            found.append(name)
    return found


def _with_numbers(row: Row, numeric: Sequence[str]) -> Row:
    number, values = row
    for name in numeric:
        if NUMBER.fullmatch(text := values[name]):
            value = int(text) if text.lstrip("-").isdecimal() else float(text)
            values[name] = value if math.isfinite(value) else text
    return number, values


def write_table(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> None:
    """Write a header and rows, quoted where needed."""
    with output(path) as file:
        text = StringIO(newline="")
        tidy = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        careful = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in chain([names], rows):
            # The csv module writes a carriage return without quotes, and then cannot read it.
            odd = any(isinstance(cell, str) and "\r" in cell for cell in row)
            (careful if odd else tidy).writerow(row)
            file.write(text.getvalue().encode())
            text.seek(0)
            text.truncate()


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
    for name, value in document.metadata.items():
        if not isinstance(value, (str, int, float, type(None))):
            raise RankwellError(
                f"{path}: {name!r} of document {document.id!r} is a {type(value).__name__}, and a table holds only "
                "text and numbers: write JSON lines instead"
            )
    return [values.get(name, "") for name in names]


QUERY_IDS = ("qid", "query_id", "query-id", "topic", "number", "_id", "id")
JUDGMENTS = {"corpus-id", "corpus_id", "docno", "doc_id"}  # a table with one of these holds judgments


class QueryTable:
    """A table of queries: a column with the id; every other column is a wording."""

    name = "csv"
    suffixes = (".csv",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether there is a header of several columns, one of them with a usual name for query ids."""
        names = header(start, _delimiter(start))
        return path.is_file() and _id_column(names) is not None and not JUDGMENTS & set(names)

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """Read the queries."""
        start = head(path)
        names = header(start, _delimiter(start))
        column = _id_column(names)
        if column is None:
            raise FormatError(
                path, 1, expected=f"a column with the query id ({', '.join(QUERY_IDS)})", found=Phrase(listed(names))
            )
        for number, row in table_rows(path, reading, _delimiter(start)):
            qid = row.pop(column)
            reading.place.line = number
            if qid.strip():
                yield Query(qid, {name: text for name, text in row.items() if text})
            else:
                reading.problems.add(FormatError(path, number, expected=f"an id in {column!r}", found=Phrase("none")))

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """Write the queries with a column for each wording."""
        every = list(queries)
        names = list(dict.fromkeys(name for query in every for name in query.texts)) or ["query"]
        if taken := set(QUERY_IDS) & {name.lower() for name in names}:
            raise RankwellError(f"{path}: a text named {taken.pop()!r} cannot be told from the query id in a table")
        rows = ([query.id, *(query.texts.get(name, "") for name in names)] for query in every)
        write_table(path, ["qid", *names], rows, ",")


def _delimiter(start: str) -> str:
    """The usual separator that gives the most columns in the first line."""
    return max("\t,;", key=lambda delimiter: len(header(start, delimiter)))


def _id_column(names: list[str]) -> str | None:
    return next((name for name in names if name.lower() in QUERY_IDS), None) if len(names) > 1 else None
