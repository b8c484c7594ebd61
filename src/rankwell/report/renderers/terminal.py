"""Tables for a terminal: drawn by rich on a real one, plain lined-up text in a file or a pipe."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankwell.report.cells import cell_text, visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from rankwell.report.table import Table

GAP = "  "
BETWEEN = 3  # what rich puts between two columns
WORDS = 24  # letters in a line that are enough for words, which may go on in the next


def terminal(table: Table) -> str:
    """The table for standard output, whatever that is."""
    return styled(table) if sys.stdout.isatty() else plain(table)


def plain(table: Table) -> str:
    """The same text everywhere: no colours, no fitting to a width."""
    from rich.cells import cell_len

    lines = [[visible(column.name) for column in table.columns], *_rows(table)]
    # A Chinese letter takes two places on a terminal, an accent none: letters cannot be counted.
    widths = [max(map(cell_len, texts)) for texts in zip(*lines, strict=True)]
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
    """With the terminal's width and colours (none where NO_COLOR is set).

    A table that is too wide comes in pieces one below the other, each with the columns that name its rows: a number
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
    for row in _rows(table):
        drawn.add_row(*(Text(row[place]) for place in places))
    return drawn


def _pieces(table: Table, width: int) -> list[list[int]]:
    """Places of the columns that go beside each other; all where they fit."""
    from rich.cells import cell_len

    lines = [[visible(column.name) for column in table.columns], *_rows(table)]
    widths = [max(map(cell_len, texts)) for texts in zip(*lines, strict=True)]
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


def _rows(table: Table) -> list[list[str]]:
    return [
        [visible(cell_text(cell, column)) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
