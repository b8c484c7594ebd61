"""CSV and TSV tables with a header, of documents or of queries."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rankwell.collections.columns import IDS, TEXTS, ColumnChoice, choose_columns, listed
from rankwell.collections.format import DocumentFormat, QueryFormat
from rankwell.collections.formats.jsonl import SAMPLE, Row, documents_of_rows
from rankwell.collections.reading import Problems, Reading, byte_lines, head, not_in_encoding, output
from rankwell.core import Document, FormatError, Phrase, Query, RankwellError

DELIMITERS = ",\t;"
LONGEST_NAME = 100  # characters of a column's name at most
LONGEST_FIELD = 2**31 - 1  # characters; more than fits in a C long on some machines is refused
# Numbers as programs write them: no leading zeros, an exponent only with its sign, at most the digits of 64 bits.
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,20}(e[+-][0-9]{2,3})?|e[+-][0-9]{2,3})?")
CODE = re.compile(r"[+-]?0[0-9]+")
KEPT_BACK = 1000  # documents that determine the header of a new table


def _is_table(delimiter: str, _: Path, start: str) -> bool:
    """Whether the first line has several columns with short names, one of them usual for an id or a text."""
    if start.startswith(("{", "[", "<")):
        return False
    names = header(start, delimiter)
    most = max(len(header(start, other)) for other in DELIMITERS)
    plausible = 1 < len(names) == most and all(len(name) <= LONGEST_NAME and "\t" not in name for name in names)
    return plausible and bool({name.lower() for name in names} & {*IDS, *TEXTS})


def _read(delimiter: str, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of a table; columns of numbers become numbers where they are metadata."""
    rows = table_rows(path, reading, delimiter)
    sample = list(islice(rows, SAMPLE))
    if not sample:
        return iter(())
    columns = choose_columns([row for _, row in sample], choice, str(path))
    numeric = _columns_of_numbers([row for _, row in sample], {columns.id, *columns.fields.values()})
    with_numbers = (_with_numbers(row, numeric) for row in chain(sample, rows))
    return documents_of_rows(path, with_numbers, columns, reading)


def _write(delimiter: str, path: Path, documents: Iterable[Document]) -> None:
    """The columns are the id, the fields and the metadata that the first thousand documents have."""
    following = iter(documents)
    first = list(islice(following, KEPT_BACK))
    fields, metadata = (
        dict.fromkeys(chain(*part)) for part in ([d.fields for d in first], [d.metadata for d in first])
    )
    names = ["id", *fields, *metadata]
    if len(set(names)) < len(names):
        raise RankwellError(
            f"{path}: expected different names for the id, fields and metadata, found {', '.join(names)}"
        )
    write_table(path, names, (_cells(document, names, path) for document in chain(first, following)), delimiter)


def _table(name: str, delimiter: str, *suffixes: str) -> DocumentFormat:
    """A table whose first line names the columns; quotes may hold separators and line breaks."""
    read, write = partial(_read, delimiter), partial(_write, delimiter)
    return DocumentFormat(name, partial(_is_table, delimiter), read, write, suffixes)


CSV = _table("csv", ",", ".csv")
SEMICOLON = _table("csv-semicolon", ";")
TSV = _table("tsv", "\t", ".tsv")


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
                    found = Phrase(listed(names))
                    raise FormatError(path, number, expected="a different name for every column", found=found)
            elif len(cells) == len(names):
                yield number, dict(zip(names, cells, strict=True))
            elif cells:
                expected = f"{len(names)} columns ({listed(names)})"
                reading.report(path, number, expected, Phrase(f"{len(cells)}"))
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
    columns = []
    for name in rows[0]:
        values = [value for row in rows if (value := row[name])]
        numbers = sum(NUMBER.fullmatch(value) is not None for value in values)
        if name not in others and 2 * numbers > len(values) and not any(CODE.fullmatch(value) for value in values):
            columns.append(name)
    return columns


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


def _query_columns(start: str) -> tuple[str, list[str], str | None]:
    """The separator that gives the most columns in the first line, the columns, and the one with the query id."""
    delimiter = max("\t,;", key=lambda other: len(header(start, other)))
    names = header(start, delimiter)
    ids = [name for name in names if name.lower() in QUERY_IDS and len(names) > 1]
    return delimiter, names, ids[0] if ids else None


def _is_query_table(_: Path, start: str) -> bool:
    _delimiter, names, column = _query_columns(start)
    return column is not None and not JUDGMENTS & set(names)


def _read_queries(path: Path, reading: Reading) -> Iterator[Query]:
    delimiter, names, column = _query_columns(head(path))
    if column is None:
        expected = f"a column with the query id ({', '.join(QUERY_IDS)})"
        raise FormatError(path, 1, expected=expected, found=Phrase(listed(names)))
    for number, row in table_rows(path, reading, delimiter):
        qid = row.pop(column)
        reading.place.line = number
        if qid.strip():
            yield Query(qid, {name: text for name, text in row.items() if text})
        else:
            reading.report(path, number, f"an id in {column!r}", Phrase("none"))


def _write_queries(path: Path, queries: Iterable[Query]) -> None:
    every = list(queries)
    names = list(dict.fromkeys(name for query in every for name in query.texts)) or ["query"]
    if taken := set(QUERY_IDS) & {name.lower() for name in names}:
        raise RankwellError(f"{path}: a text named {taken.pop()!r} cannot be told from the query id in a table")
    rows = ([query.id, *(query.texts.get(name, "") for name in names)] for query in every)
    write_table(path, ["qid", *names], rows, ",")


# A table of queries: a column with the id; every other column is a wording.
QUERIES = QueryFormat("csv", _is_query_table, _read_queries, _write_queries, (".csv",))
