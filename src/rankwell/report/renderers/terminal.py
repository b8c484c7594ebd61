"""Tables for a terminal: drawn by rich on a real one, plain lined-up text in a file or a pipe."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from rankwell.report.cells import cell_text, visible

if TYPE_CHECKING:
    from rankwell.report.table import Table

GAP = "  "


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
    """With the terminal's width and colours (none where NO_COLOR is set)."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    # Text objects throughout, since rich would read [brackets] in a string as its own markup.
    drawn = RichTable(
        title=Text(visible(table.title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for column in table.columns:
        drawn.add_column(Text(visible(column.name)), justify=column.align, overflow="fold")
    for row in _rows(table):
        drawn.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), force_terminal=True, width=Console().width)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get()


def _rows(table: Table) -> list[list[str]]:
    return [
        [visible(cell_text(cell, column)) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
