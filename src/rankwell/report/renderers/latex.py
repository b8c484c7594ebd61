"""Tables as LaTeX, in the style of the booktabs package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankwell.report.cells import cell_text, one_line

if TYPE_CHECKING:
    from rankwell.report.table import Table

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
    # At the start of a row these two would be read as the options of the row's end before it.
    "[": "{[}",
    "*": "{*}",
}
_SPECIAL = re.compile("|".join(map(re.escape, ESCAPES)))


def latex(table: Table) -> str:
    r"""A `table` environment with its caption; needs \usepackage{booktabs}."""
    alignment = "".join(column.align[0] for column in table.columns)
    rows = [[cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        _row([column.name for column in table.columns]),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    """Text that LaTeX sets as it is: specials escaped, and `--` kept from becoming a dash."""
    escaped = _SPECIAL.sub(lambda found: ESCAPES[found[0]], one_line(text))
    return re.sub("-(?=-)", "-{}", escaped)
