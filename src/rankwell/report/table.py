"""A table of results, and how it is written: for a terminal, or as Markdown, LaTeX, CSV or JSON (`--output`)."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from rankwell.core import ParameterError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Cell: TypeAlias = str | int | float | None
Align: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True)
class Column:
    """The format of a column. Its name is also the key in JSON; `digits` are decimal places."""

    name: str
    align: Align = "right"
    digits: int | None = None
    thousands: bool = True


@dataclass(frozen=True)
class Table:
    """A title, columns with different names, and rows with one cell for each column."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names or len(set(names)) < len(names):
            raise ParameterError("columns", expected="at least one, each with a name of its own", found=names)
        for row in self.rows:
            if len(row) != len(names):
                raise ParameterError(f"table {self.title}", expected=f"rows of {len(names)} cells", found=list(row))
        object.__setattr__(self, "columns", tuple(self.columns))
        # numpy's numbers as Python's, for JSON
        plain = ((cell.item() if isinstance(cell, np.generic) else cell for cell in row) for row in self.rows)
        object.__setattr__(self, "rows", tuple(map(tuple, plain)))

    def render(self, output: str = "table") -> str:
        """The table as text: `table` (terminal), `md`, `latex`, `csv` or `json`."""
        if output not in RENDERERS:
            raise ParameterError("output", expected=f"one of {', '.join(RENDERERS)}", found=output)
        return RENDERERS[output](self)

    def texts(self, shape: Callable[[str], str] = str) -> list[list[str]]:
        """The header and the rows as people read them, each text given to `shape`."""
        rows = ([cell_text(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows)
        return [[shape(text) for text in row] for row in ([column.name for column in self.columns], *rows)]


MISSING = "-"
# Joiners have no width but shape the letters of Persian, Hindi and emoji; they are kept.
JOINERS = "\u200c\u200d"


class Marked(str):
    """A number with significance marks as text; programs get its `value`."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, text: str, value: float) -> Self:
        """The text with the number that it shows."""
        cell = super().__new__(cls, text)
        cell.value = value
        return cell


def cell_text(cell: Cell, column: Column) -> str:
    """The cell for people: thousands separators, the column's digits, `-` for an unknown value."""
    if cell is None or _is_missing(cell):
        return MISSING
    if isinstance(cell, str):
        return cell
    thousands = "," if column.thousands else ""
    if isinstance(cell, int) and column.digits is None:
        return f"{cell:{thousands}}"
    if column.digits is None:
        return f"{cell:{thousands}g}"
    smallest = 10**-column.digits
    if 0 < cell < smallest:  # a p-value is never 0.0000, and 0.0001 would contradict its four stars
        return f"<{smallest:.{column.digits}f}"
    return f"{cell:{thousands}.{column.digits}f}"


def _is_missing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def unmarked(row: Sequence[Cell]) -> Iterator[Cell]:
    """The cells of a row for programs: numbers without their marks, and in full."""
    return (cell.value if isinstance(cell, Marked) else cell for cell in row)


def visible(text: str) -> str:
    r"""Text on one line with control characters made visible: an escape is written as `\x1b`."""
    return "".join(map(_visible_character, text))


def one_line(text: str) -> str:
    """Text without line breaks of any kind, and with other control characters made visible."""
    return visible(" ".join(text.splitlines()))


def _visible_character(char: str) -> str:
    if char.isprintable() or char in JOINERS:
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    return char.encode("unicode_escape").decode("ascii")


def csv_text(table: Table) -> str:
    """A header and the rows. Text is data and stays as it is, even where a spreadsheet would see a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(column.name for column in table.columns)
    for row in table.rows:
        writer.writerow("" if _is_missing(cell) else cell for cell in unmarked(row))
    return out.getvalue()


def json_text(table: Table) -> str:
    """A list of objects: numbers in full, null for unknown values, since JSON has no NaN."""
    names = [column.name for column in table.columns]
    rows = (
        (None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in unmarked(row))
        for row in table.rows
    )
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    return json.dumps(objects, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # At the start of a row LaTeX would read these two as options of the row end before it.
    "[": "{[}",
    "*": "{*}",
}
_LATEX = re.compile("|".join(map(re.escape, ESCAPES)))


def latex(table: Table) -> str:
    r"""A `table` environment with its caption; needs \usepackage{booktabs}."""
    alignment = "".join(column.align[0] for column in table.columns)
    return latex_table(table.texts(latex_text), alignment, caption=latex_text(table.title))


def latex_table(texts: Sequence[Sequence[str]], alignment: str, *, caption: str, label: str | None = None) -> str:
    """A `table` environment of a header and rows, all of which are LaTeX already."""
    header, *rows = (" & ".join(row) + r" \\" for row in texts)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        header,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """Text escaped for LaTeX; `--` does not become a dash."""
    escaped = _LATEX.sub(lambda match: ESCAPES[match[0]], one_line(text))
    return re.sub("-(?=-)", "-{}", escaped)


# All characters that could start a link, a tag, code or emphasis, and the bar between cells.
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~&$]")
NARROWEST = 3


def markdown(table: Table) -> str:
    """The title in bold and the table below it."""
    escaped = table.texts(_markdown)
    widths = [max(NARROWEST, *map(len, texts)) for texts in zip(*escaped, strict=True)]
    right = [column.align == "right" for column in table.columns]
    rule = ["-" * (width - 1) + (":" if to_right else "-") for width, to_right in zip(widths, right, strict=True)]
    lines = []
    for row in [escaped[0], rule, *escaped[1:]]:
        cells = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append(f"| {' | '.join(cells)} |")
    heading = f"**{_markdown(table.title)}**\n\n" if table.title.strip() else ""
    return heading + "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda match: "\\" + match[0], one_line(text).strip())


GAP = "  "
BETWEEN = 3  # width that rich puts between two columns
WORDS = 24  # least width of a column of words, which may wrap


def terminal(table: Table) -> str:
    """The table for standard output: styled on a terminal, else plain."""
    return styled(table) if sys.stdout.isatty() else plain(table)


def plain(table: Table) -> str:
    """The table as plain text, without colours and without fitting to a width."""
    from rich.cells import cell_len

    lines, widths = table.texts(visible), _widths(table)
    lines.insert(1, ["-" * width for width in widths])
    out = [visible(table.title), ""]
    for row in lines:
        cells = []
        for text, width, column in zip(row, widths, table.columns, strict=True):
            space = " " * (width - cell_len(text))
            cells.append(space + text if column.align == "right" else text + space)
        out.append(GAP.join(cells).rstrip())
    return "\n".join(out) + "\n"


def styled(table: Table) -> str:
    """The table with the terminal's width and colours (none where NO_COLOR is set).

    A table that is too wide is split into pieces, each with the columns that name its rows: a number
    broken over two lines is a wrong number.
    """
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=Console().width)
    with console.capture() as captured:
        for number, places in enumerate(_pieces(table, console.width)):
            console.print(_drawn(table, places, titled=number == 0))
    return captured.get()


def _drawn(table: Table, places: Sequence[int], *, titled: bool) -> RichTable:
    """Some columns of the table."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    # Text objects throughout, since rich would read [brackets] in a string as its own markup.
    title = Text(visible(table.title), style="bold") if titled else None
    drawn = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place in places:
        column = table.columns[place]
        whole = column.align == "right"
        drawn.add_column(Text(visible(column.name)), justify=column.align, overflow="fold", no_wrap=whole)
    for row in table.texts(visible)[1:]:
        drawn.add_row(*(Text(row[place]) for place in places))
    return drawn


def _pieces(table: Table, width: int) -> list[list[int]]:
    """Indices of the columns of each piece; one piece where all fit."""
    widths = _widths(table)
    for place, column in enumerate(table.columns):  # words may be broken, numbers may not
        widths[place] = BETWEEN + (min(widths[place], WORDS) if column.align == "left" else widths[place])
    labels = list(itertools.takewhile(lambda place: table.columns[place].align == "left", range(len(widths))))
    room = width - sum(widths[place] for place in labels)
    pieces, used = [list(labels)], 0
    for place in range(len(labels), len(widths)):
        if used and used + widths[place] > room:
            pieces.append(list(labels))
            used = 0
        pieces[-1].append(place)
        used += widths[place]
    return pieces


def _widths(table: Table) -> list[int]:
    """The width of each column in cells of a terminal: a Chinese letter takes two, an accent none."""
    from rich.cells import cell_len

    return [max(map(cell_len, texts)) for texts in zip(*table.texts(visible), strict=True)]


RENDERERS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"table": terminal, "md": markdown, "latex": latex, "csv": csv_text, "json": json_text}
)
