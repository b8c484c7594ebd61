"""Parts of a study's page that other pages have not: numbers that link to their cell, and the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import orjson

from rankwell.report import TablePart
from rankwell.report.cells import cell_text, visible

# Enough for a click: the cell's part of the page has this name.
ANCHOR = "cell-"


@dataclass(frozen=True)
class LinkedTable(TablePart):
    """A table whose cells may be links; `links` are places on the same page by row and column."""

    links: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def _row(self, place: int) -> str:
        row = super()._row(place)
        for number, (cell, column) in enumerate(zip(self.table.rows[place], self.table.columns, strict=True)):
            target = self.links.get((place, number))
            if target is not None:
                text = escape(visible(cell_text(cell, column)))
                row = _nth_cell(row, number, f'<a href="#{escape(target)}">{text}</a>')
        return row


def _nth_cell(row: str, number: int, content: str) -> str:
    """A row of HTML with the content of one of its cells replaced."""
    start = -1
    for _ in range(number + 1):
        start = row.index("<t", start + 1) if start >= 0 else row.index("<t", row.index("<tr>") + 1)
    opened = row.index(">", start) + 1
    closed = row.index("</t", opened)
    return row[:opened] + content + row[closed:]


@dataclass(frozen=True)
class Anchor:
    """A place that links lead to."""

    name: str

    def html(self) -> str:
        """As an empty element."""
        return f'<div id="{escape(self.name)}"></div>'


@dataclass(frozen=True)
class CellPart:
    """All there is to say about a cell: its run file, its configuration, its data, its seed, and how to see it."""

    record: Mapping[str, Any]
    facts: Mapping[str, str]

    def html(self) -> str:
        """A heading that links lead to, and a list."""
        short = str(self.record["key"])[:20]
        title = escape(visible(str(self.record["title"])))
        rows = "\n".join(
            f"<dt>{escape(name)}</dt><dd><code>{escape(visible(value))}</code></dd>"
            for name, value in self.facts.items()
        )
        return f'<h3 id="{ANCHOR}{short}">{title}</h3>\n<dl>\n{rows}\n</dl>'


def facts_of_cell(record: Mapping[str, Any], folder: str, seed: int) -> dict[str, str]:
    """What a reader needs to trace a number, in words."""
    short = str(record["key"])[:20]
    configuration = record["configuration"]
    told = {
        "cell": short,
        "file": f"cells/{short}/{'run.trec' if record['kind'] == 'run' else 'cell.json'}",
        "configuration": orjson.dumps(configuration).decode(),
        "data fingerprint": str(configuration.get("data", "")),
        "run fingerprint": str(record.get("run", "")),
        "seed": str(seed),
        "made of": ", ".join(str(key)[:20] for key in record["parents"]),
        "seconds": f"{record['seconds']:.1f}",
        "finished": str(record["finished"]),
        "see it": f"rankwell study show {folder} --cell {short}",
    }
    return {name: value for name, value in told.items() if value}
