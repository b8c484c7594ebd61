"""The parts of an HTML page. Each knows its own HTML, and escapes every word that it is given."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Protocol

from rankwell.plots import Picture
from rankwell.report.cells import cell_text, visible
from rankwell.report.table import Table

LONGEST_UNBROKEN = 24  # a cell of so few letters, such as an interval, reads better on one line


class Part(Protocol):
    """Anything that can stand on a page."""

    def html(self) -> str:
        """The part as HTML that is safe to put into a page."""
        ...


@dataclass(frozen=True)
class Heading:
    """A heading below the page's title: level 2, or 3 and more for what stands below another heading."""

    text: str
    level: int = 2

    def html(self) -> str:
        """As `<h2>` and so on."""
        return f"<h{self.level}>{_escaped(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Text:
    """Plain text; an empty line in it starts a new paragraph."""

    text: str

    def html(self) -> str:
        """As paragraphs."""
        paragraphs = filter(None, (" ".join(block.split()) for block in self.text.split("\n\n")))
        return "\n".join(f"<p>{_escaped(paragraph)}</p>" for paragraph in paragraphs)


@dataclass(frozen=True)
class Note:
    """Something the reader should not miss, such as a limit of the figures."""

    text: str

    def html(self) -> str:
        """As a marked paragraph."""
        return f'<p class="note">{_escaped(" ".join(self.text.split()))}</p>'


@dataclass(frozen=True)
class TablePart:
    """A table, which scrolls inside its own frame where the window is too narrow for it."""

    table: Table

    def html(self) -> str:
        """As `<table>`; the frame takes the keyboard's focus, so that it can be scrolled without a mouse."""
        table = self.table
        label = escape(visible(table.title) or "Table")
        head = "".join(f"<th scope=col{_side(column.align)}>{_escaped(column.name)}</th>" for column in table.columns)
        body = "\n".join(self._row(place) for place in range(len(table.rows)))
        return (
            f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">\n<table>\n'
            f"<caption>{label}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )

    def _row(self, place: int) -> str:
        """The first cell names the row, so that a screen reader can say it with every other cell."""
        cells = []
        for number, (cell, column) in enumerate(zip(self.table.rows[place], self.table.columns, strict=True)):
            text = _escaped(cell_text(cell, column))
            opening, closing = ("th scope=row", "th") if number == 0 else ("td", "td")
            side = _side(column.align) or (" class=n" if number and len(text) <= LONGEST_UNBROKEN else "")
            cells.append(f"<{opening}{side}>{text}</{closing}>")
        return f"<tr>{''.join(cells)}</tr>"


@dataclass(frozen=True)
class PicturePart:
    """A picture as inline SVG, which carries its own title and description; `caption` is read by all."""

    picture: Picture
    caption: str | None = None

    def html(self) -> str:
        """As `<figure>`."""
        caption = f"\n<figcaption>{_escaped(self.caption)}</figcaption>" if self.caption else ""
        return f"<figure>\n{self.picture.svg()}{caption}\n</figure>"


def _side(align: str) -> str:
    return " class=r" if align == "right" else ""


def _escaped(text: str) -> str:
    return escape(visible(text))
