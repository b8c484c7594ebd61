"""Tables as GitHub-flavoured Markdown, lined up so that the source can be read too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankwell.report.cells import cell_text, one_line

if TYPE_CHECKING:
    from rankwell.report.table import Table

# Everything that could start a link, a tag, code or emphasis, and the bar between cells.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&$]")
NARROWEST = 3


def markdown(table: Table) -> str:
    """The title in bold and the table below it."""
    rows = [[column.name for column in table.columns]]
    rows += [[cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    escaped = [[_escaped(text) for text in row] for row in rows]
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
    heading = f"**{_escaped(table.title)}**\n\n" if table.title.strip() else ""
    return heading + "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], one_line(text).strip())
