"""CSV and TSV tables, of documents or of queries: any delimiter, any names of columns."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from rankwell.collections.column_names import IDS, TEXTS
from rankwell.collections.columns import ColumnChoice, Columns, listed
from rankwell.collections.dialects import NAMED, Dialect, may_be_names, sniff
from rankwell.collections.format import DocumentFormat, QueryFormat
from rankwell.collections.long_lines import LONGEST_LINE, has_short_lines
from rankwell.collections.reading import (
    CUT,
    Problems,
    Reading,
    byte_lines,
    head,
    not_in_encoding,
    open_bytes,
    output,
)
from rankwell.collections.tables import SAMPLE, CellsRow, Row, columns_of_table, documents_of_cells, shape
from rankwell.core import Document, FormatError, Phrase, Query, RankwellError

LONGEST_FIELD = LONGEST_LINE  # characters; a longer cell is a bad record, so that memory is bounded
MARK = codecs.BOM_UTF8
KEPT_BACK = 1000  # documents that determine the header of a new table
TABLES = (".csv", ".tsv", ".tab", ".psv", ".txt", ".dat")


def _is_table(delimiter: str, _: Path, start: str) -> bool:
    """Whether it is a table with that delimiter whose header is beyond doubt, by a usual name or by its values."""
    names = {name.lower() for name in header(start, delimiter)}
    if len(names) > 1 and _most_columns(start, delimiter) and names & {*IDS, *TEXTS}:
        return True
    dialect = sniff(start)
    return dialect is not None and dialect.delimiter == delimiter and dialect.header is True


def _most_columns(start: str, delimiter: str) -> bool:
    """Whether that delimiter gives the first line the most columns, all with names that are short enough."""
    names = header(start, delimiter)
    most = all(len(header(start, other)) <= len(names) for other in ",\t;")
    return most and not start.startswith(("{", "[", "<")) and may_be_names(names)


def _is_any_table(path: Path, start: str) -> bool:
    """Whether it has rows of equal width; where neither its ending nor its delimiter tells a table, three columns."""
    dialect, ending = sniff(start), path.name.lower().removesuffix(".gz")
    if dialect is None:
        return ending.endswith((".csv", ".tsv")) and not start.startswith(("{", "[", "<"))
    told = ending.endswith(TABLES) or dialect.delimiter in "\t|;"
    return dialect.records > 1 and (told or dialect.columns > 2)  # noqa: PLR2004 -- two may be prose


def _read(delimiter: str | None, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of a table; a sample of its rows tells what each column is."""
    dialect, first = dialect_of(path, reading, delimiter), reading.unseen
    names, rows = cells_of_table(path, first, dialect)
    with closing(rows):
        sample = [dict(zip(names, cells, strict=True)) for _, cells in islice(rows, SAMPLE)]
    if not sample:  # what is wrong with the rows is told now
        return documents_of_cells(path, names, cells_of_table(path, reading, dialect)[1], Columns(None, {}), reading)
    reading.place.encoding = first.place.encoding
    details = [f"{NAMED.get(dialect.delimiter, repr(dialect.delimiter))}-separated", _encoding(reading)]
    doubts = [] if dialect.has_header else ["the first line looks like data, so the columns are numbered"]
    notes = [f"{dialect.skip} lines before the header are left out"] * (dialect.skip > 0)
    columns = columns_of_table(path, sample, choice, reading, details=[*details, *notes], doubts=doubts)
    return _documents(path, reading, dialect, names, columns)


def _documents(
    path: Path, reading: Reading, dialect: Dialect, names: Sequence[str], columns: Columns
) -> Iterator[Document]:
    """The documents of a table, in one loop over Python's csv reader, because millions of rows are read here.

    What that reader cannot read, and all that comes after it, is read line by line.
    """
    make, place, skip = columns.document_of_cells(names), reading.place, dialect.skip
    quick = columns.quick_document(names) or (lambda _: None)
    line, count, header, whole = skip, 0, dialect.has_header, False
    with closing(_text(path, reading)) as text, suppress(csv.Error, UnicodeDecodeError, *CUT):
        for _ in range(skip):
            text.readline()
        reader = csv.reader(_bounded(text), strict=True, **dialect.options())
        while header:
            header = not next(reader, [""])
            line = skip + reader.line_num
        for cells in reader:
            place.line = line + 1
            line = skip + reader.line_num
            count += 1
            try:
                document = quick(cells)
            except ValueError:  # another width
                document = None
            if document is None:
                fitted = _fitted(path, reading, names, (place.line, cells))
                if fitted is None:
                    count -= 1
                    continue
                try:
                    document = make(fitted, count)
                except ValueError as error:
                    reading.report(path, place.line, str(error), Phrase(shape(dict(zip(names, fitted, strict=True)))))
                    continue
            yield document
        whole = True
    if not whole:
        rest = _careful_records(path, reading, dialect, line, header=header)
        if header:
            next(rest, None)
        cells_of_rest = _of_width(path, reading, names, rest)
        yield from documents_of_cells(path, names, cells_of_rest, columns, reading, count)


def _bounded(text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a file; a line that is too long is an error of its csv, before it is in memory."""
    return text if has_short_lines(cast("io.BufferedReader", text.buffer)) else _short_lines(text)


def _short_lines(text: io.TextIOWrapper) -> Iterator[str]:
    for line in iter(partial(text.readline, LONGEST_FIELD), ""):
        if len(line) == LONGEST_FIELD and line[-1] != "\n":
            raise csv.Error("a line that is too long")
        yield line


def _encoding(reading: Reading) -> str:
    return (reading.place.encoding if reading.encoding == "auto" else reading.encoding).upper().replace("CP", "cp")


def dialect_of(path: Path, reading: Reading, delimiter: str | None = None) -> Dialect:
    """How the table is written, with a known delimiter or the one that fits best."""
    start = head(path, reading)
    found = sniff(start)
    if delimiter is None:
        return found or Dialect("\t" if path.name.removesuffix(".gz").endswith(".tsv") else ",")
    return found if found is not None and found.delimiter == delimiter else Dialect(delimiter)


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
# Any other table: other delimiters, and a header that is one only because it comes first.
ANY_TABLE = DocumentFormat("table", _is_any_table, partial(_read, None), partial(_write, ","))


def header(start: str, delimiter: str) -> list[str]:
    """The column names in a first line; none where it is not a table's."""
    line = start.partition("\n")[0].rstrip("\r")
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def table_rows(path: Path, reading: Reading, delimiter: str) -> Iterator[Row]:
    """Numbered rows as objects; a row with too few or too many columns is a problem."""
    names, rows = cells_of_table(path, reading, Dialect(delimiter))
    return ((number, dict(zip(names, cells, strict=True))) for number, cells in rows)


def cells_of_table(path: Path, reading: Reading, dialect: Dialect) -> tuple[list[str], Generator[CellsRow]]:
    """The names of the columns, and numbered rows of as many cells; a row of another width is a problem."""
    records = _records(path, reading, dialect)
    first = next((record for record in records if any(record[1])), None)  # lines above a table may be empty
    if first is None:
        raise FormatError(path, 1, expected="a header that names the columns", found=Phrase("an empty file"))
    given = ["", *first[1]] if dialect.row_names else first[1]
    names = different([name.strip() for name in given] if dialect.has_header else [""] * len(given))
    return names, _of_width(path, reading, names, records if dialect.has_header else chain([first], records))


def different(names: Sequence[str]) -> list[str]:
    """Names of columns, none empty and none twice: `column 3` for a missing one, `text 2` for a second `text`."""
    found: list[str] = []
    for place, name in enumerate(names, 1):
        known, count = name or f"column {place}", 1
        while known in found:
            count += 1
            known = f"{name or f'column {place}'} {count}"
        found.append(known)
    return found


def _of_width(path: Path, reading: Reading, names: Sequence[str], records: Iterable[CellsRow]) -> Generator[CellsRow]:
    width = len(names)
    for record in records:
        if len(record[1]) == width and record[1][0]:
            yield record
        elif (cells := _fitted(path, reading, names, record)) is not None:
            yield record[0], cells


def _fitted(path: Path, reading: Reading, names: Sequence[str], record: CellsRow) -> list[str] | None:
    """The cells of a row, as many as there are names; None for an empty row, and after a problem."""
    width, (number, cells) = len(names), record
    if not any(cells):
        return None
    if len(cells) == width or (len(cells) > width and not any(cells[width:])):  # a delimiter at the end of each line
        return cells[:width]
    reading.report(path, number, f"{width} columns ({listed(names)})", Phrase(f"{len(cells)}"))
    return None


def _records(path: Path, reading: Reading, dialect: Dialect) -> Iterator[CellsRow]:
    """The cells of each record with its first line; an unreadable record is a problem and left out.

    Python's csv module reads the file directly until something is wrong, and then line by line from there, so that we
    know which lines a record consists of.
    """
    # A field may be a whole book. The limit is global, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    number, whole = dialect.skip, False
    with closing(_text(path, reading)) as text, suppress(csv.Error, UnicodeDecodeError, *CUT):
        for _ in range(dialect.skip):
            text.readline()
        reader = csv.reader(_bounded(text), strict=True, **dialect.options())
        for cells in reader:
            if cells:
                yield number + 1, cells
            number = dialect.skip + reader.line_num
        whole = True
    if not whole:
        yield from _careful_records(path, reading, dialect, number)


def _text(path: Path, reading: Reading) -> io.TextIOWrapper:
    """The file as text, without a byte order mark; a line ends in a line feed."""
    file = open_bytes(path, reading)
    with suppress(*CUT):  # a damage is told when the rows are read
        if file.peek(len(MARK))[: len(MARK)] == MARK:
            file.read(len(MARK))
    return io.TextIOWrapper(file, reading.codec, newline="\n")


def _careful_records(
    path: Path, reading: Reading, dialect: Dialect, after: int, *, header: bool = True
) -> Generator[CellsRow]:
    """The records after that many lines, read line by line; `header` tells that the first one is still to come.

    A quote that is never closed would swallow the rest of the file: only its own line is left out, and reading goes on
    with the next.
    """
    numbered = islice(enumerate(byte_lines(path, reading), 1), after, None)
    again: list[tuple[int, bytes]] = []
    taken: list[tuple[int, bytes]] = []
    wrong: list[FormatError] = []
    problems = Problems() if header and after == dialect.skip else reading.problems  # a missing header is an error

    def lines() -> Iterator[str]:
        while (line := again.pop() if again else next(numbered, None)) is not None:
            taken.append(line)
            try:
                yield line[1].decode(reading.codec)
            except UnicodeDecodeError as error:
                wrong.append(not_in_encoding(path, line[0], error, reading))
                yield line[1].decode(reading.codec, errors="replace")

    records = csv.reader(lines(), strict=True, **dialect.options())
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
                records = csv.reader(lines(), strict=True, **dialect.options())
            continue
        if not wrong:
            problems = reading.problems if cells else problems
            yield taken[0][0], cells
        while wrong:
            problems.add(wrong.pop(0))


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
