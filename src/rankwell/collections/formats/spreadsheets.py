"""Spreadsheets: Excel (xlsx, xlsm, xlsb, xls) and OpenDocument (ods), with calamine (the extra `files`).

Each sheet is a table. A workbook is checked for bombs before it is opened, because it is unpacked as a whole.
"""

from __future__ import annotations

import logging
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from rankwell.collections.archives import Archive, is_zip, part_names
from rankwell.collections.columns import ColumnChoice, is_template
from rankwell.collections.dialects import is_header
from rankwell.collections.format import DocumentFormat, cannot_be_written
from rankwell.collections.formats.delimited import different
from rankwell.collections.formats.texts import OLD_OFFICE
from rankwell.collections.reading import Reading
from rankwell.collections.tables import SAMPLE, Row, columns_of_table, documents_of_table
from rankwell.core import Document, FormatError, MissingExtraError, Phrase, RankwellError

log = logging.getLogger(__name__)

BOOKS = frozenset(("xl/workbook.xml", "xl/workbook.bin"))
FIRST_ROWS = 100  # that tell where the table starts
MOST_BEFORE = 20  # rows before the header
LONGEST_CELL = 10_000_000  # characters
# The calendar of early Macintoshes: days are counted from 1904 and not from 1900.
MAC = re.compile(rb"(<workbookPr\b[^>]*\bdate1904\s*=\s*)[\"'](?:1|true)[\"']")
FOUR_YEARS = timedelta(days=1462)
LARGEST_OLD = 400_000_000  # bytes of a file of before 2007, which is not packed


class Sheet(NamedTuple):
    """A sheet that is a table: its name, its columns, and its rows with their numbers in the sheet."""

    name: str
    names: list[str]
    rows: list[tuple[int, list[Any]]]
    notes: list[str]

    def numbered(self, path: str, reading: Reading) -> Iterator[Row]:
        """The rows by column, without empty cells; a cell that is too long is a problem."""
        for number, cells in self.rows:
            row = {name: value for name, value in zip(self.names, cells, strict=True) if value not in (None, "")}
            if any(isinstance(value, str) and len(value) > LONGEST_CELL for value in row.values()):
                reading.report(path, number, f"cells of at most {LONGEST_CELL:,} characters", Phrase("a longer one"))
            elif row:
                yield number, row


def is_spreadsheet(path: Path, start: str) -> bool:
    """Whether it is a workbook of Excel or OpenDocument, by its content."""
    if is_zip(start):
        names = part_names(path)
        return bool(BOOKS & names) or ("content.xml" in names and "opendocument.spreadsheet" in start[:200])
    return path.name.lower().endswith((".xls", ".xlsx", ".xlsm")) and _starts_old(path)


def _starts_old(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(OLD_OFFICE)) == OLD_OFFICE


def read_spreadsheet(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of all sheets that have a text, sheet by sheet."""
    sheets = [sheet for sheet in _sheets(path) if sheet.rows]
    if len(sheets) > 1 and choice.id is None:
        choice = replace(choice, id=_shared_id(path, sheets, choice, reading))
    unread, read = list[RankwellError](), 0
    for sheet in sheets:
        where = f"{path} [{sheet.name}]" if len(sheets) > 1 else str(path)
        details = ["spreadsheet", f"sheet {sheet.name}", *sheet.notes]
        about = {"sheet": sheet.name, "file": path.name}
        try:
            rows = sheet.numbered(where, reading)
            documents = documents_of_table(where, rows, choice, reading, about=about, details=details)
        except FormatError:
            raise
        except RankwellError as problem:
            unread.append(problem)
            continue
        read += 1
        yield from documents
    if unread and not read:
        raise unread[0]
    for error in unread:
        log.warning("a sheet is passed over: %s", error)


def _shared_id(path: Path, sheets: Sequence[Sheet], choice: ColumnChoice, reading: Reading) -> str | None:
    """A template with the sheet's name, where sheets number their rows alike; else None."""
    seen, ids, columns = 0, set[Any](), set[str]()
    for sheet in sheets:
        rows = [row for _, row in sheet.numbered(str(path), reading.unseen)]
        try:
            column = columns_of_table(path, rows[:SAMPLE], choice, reading.unseen, about={"sheet": sheet.name}).id
        except RankwellError:
            continue
        if column is not None and not is_template(column):
            values = {row.get(column) for row in rows}
            seen, ids = seen + len(values), ids | values
            columns.add(column)
    clash = seen > len(ids)
    return f"{{sheet}}-{{{columns.pop()}}}" if clash and len(columns) == 1 else None


def _sheets(path: Path) -> Iterator[Sheet]:
    calamine = _calamine()
    later = _check(path)
    try:
        with _same_dates(path) if later else path.open("rb") as file, calamine.load_workbook(file) as book:
            for about in book.sheets_metadata:
                if about.visible != calamine.SheetVisibleEnum.Visible:
                    log.warning("%s: the hidden sheet %s is passed over", path, about.name)
                elif about.typ == calamine.SheetTypeEnum.WorkSheet:
                    sheet = book.get_sheet_by_name(about.name)
                    start = sheet.start[0] if sheet.start else 0
                    yield _table(about.name, sheet.to_python(skip_empty_area=True), start, later)
    except calamine.PasswordError as error:
        raise _problem(path, "one that is protected by a password: save it without") from error
    except calamine.CalamineError as error:
        raise _problem(path, f"one that cannot be read ({' '.join(str(error).split())[:100]})") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # what the library raises where a bad file found a bug in it
            raise _problem(path, "one that is damaged") from None
        raise


def _check(path: Path) -> timedelta:
    """How much later its dates are; raise an error for a file that would unpack to too much."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"PK"
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    if packed:
        with Archive(path, "a spreadsheet") as archive:
            archive.check_sizes()
            is_mac = "xl/workbook.xml" in archive.parts and MAC.search(archive.read("xl/workbook.xml"))
        return FOUR_YEARS if is_mac else timedelta(0)
    if path.stat().st_size > LARGEST_OLD:
        raise FormatError(path, None, expected=f"at most {LARGEST_OLD:,} bytes", found=Phrase("more"))
    return timedelta(0)


def _same_dates(path: Path) -> BinaryIO:
    """A copy of the workbook without the sign that its days are counted from 1904, which the library does not know."""
    copy = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 -- the caller closes it
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as written:
        for name in archive.namelist():
            content = archive.read(name)
            written.writestr(name, MAC.sub(rb'\1"0"', content) if name == "xl/workbook.xml" else content)
    copy.seek(0)
    return copy


def _problem(path: Path, found: str) -> FormatError:
    return FormatError(path, None, expected="a spreadsheet", found=Phrase(found))


def _table(name: str, raw: Sequence[Sequence[Any]], start: int, later: timedelta) -> Sheet:
    """The table in a sheet: empty rows and columns out, lines before the header, too."""
    rows = [(number, [_value(cell, later) for cell in cells]) for number, cells in enumerate(raw, start + 1)]
    rows = [(number, cells) for number, cells in rows if any(cell != "" for cell in cells)]
    if not rows:
        return Sheet(name, [], [], [])
    filled = [sum(cell != "" for cell in cells) for _, cells in rows[:FIRST_ROWS]]
    usual = max(Counter(filled).items(), key=lambda pair: (pair[1] * (pair[0] > 1), pair[0]))[0]
    before = next((place for place, count in enumerate(filled[:MOST_BEFORE]) if 2 * count > usual), 0)
    notes = [f"{before} rows before the header are left out"] * (before > 0)
    rows = rows[before:]
    used = [place for place in range(len(rows[0][1])) if any(cells[place] != "" for _, cells in rows)]
    rows = [(number, [cells[place] for place in used]) for number, cells in rows]
    texts = [[str(cell) for cell in cells] for _, cells in rows[:FIRST_ROWS]]
    if len(rows) > 1 and is_header(texts) is not False:
        return Sheet(name, different([text.strip() for text in texts[0]]), rows[1:], notes)
    return Sheet(name, different([""] * len(used)), rows, [*notes, "no header"])


def _value(cell: Any, later: timedelta) -> Any:
    """A cell as JSON would have it: whole numbers without a point, dates in ISO's spelling."""
    if later and isinstance(cell, date):
        cell += later
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:  # noqa: PLR2004 -- exact in a float
        return int(cell)
    if isinstance(cell, datetime):
        whole = (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0)
        return cell.date().isoformat() if whole else cell.isoformat(timespec="seconds")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, str):
        return cell.strip("\u200b \t\r\n\xa0")
    return str(cell) if isinstance(cell, (timedelta, bool)) else cell


def _calamine() -> Any:
    try:
        import python_calamine
    except ImportError as error:
        raise MissingExtraError("A spreadsheet", extra="files") from error
    return python_calamine


SPREADSHEET = DocumentFormat("spreadsheet", is_spreadsheet, read_spreadsheet, cannot_be_written("a spreadsheet"))
