"""Self-contained HTML pages: their parts, which escape all text, and their style."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Protocol, runtime_checkable

from rankwell import __version__
from rankwell.core import ParameterError
from rankwell.report.pictures import Picture
from rankwell.report.table import Table, cell_text, visible

LONGEST_UNBROKEN = 24  # letters; a shorter cell, such as an interval, stays on one line


class Part(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """The part as HTML that is safe to put into a page."""
        ...


@runtime_checkable
class Scripted(Part, Protocol):
    """A part that brings a script and a style of its own; it is of use without them."""

    @property
    def script(self) -> str:
        """JavaScript, which runs when the page is there."""
        ...

    @property
    def style(self) -> str:
        """CSS."""
        ...


@dataclass(frozen=True)
class Heading:
    """A heading below the page's title: level 2, or deeper below another heading; `name` is for links to it."""

    text: str
    level: int = 2
    name: str | None = None

    def html(self) -> str:
        """As `<h2>` and so on."""
        name = f' id="{escape(self.name)}"' if self.name else ""
        return f"<h{self.level}{name}>{_escaped(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Link:
    """A link to a heading of the same page, by its name."""

    text: str
    name: str

    def html(self) -> str:
        """As a paragraph."""
        return f'<p><a href="#{escape(self.name)}">{_escaped(self.text)}</a></p>'


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
    """A warning to the reader, such as a limit of the figures."""

    text: str

    def html(self) -> str:
        """As a marked paragraph."""
        return f'<p class="note">{_escaped(" ".join(self.text.split()))}</p>'


@dataclass(frozen=True)
class TablePart:
    """A table, which scrolls inside its own frame in a narrow window.

    `links`: the places on the same page that cells link to, by row and column.
    """

    table: Table
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)

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
            text = shown = _escaped(cell_text(cell, column))
            if (place, number) in self.links:
                shown = f'<a href="#{escape(self.links[place, number])}">{text}</a>'
            opening, closing = ("th scope=row", "th") if number == 0 else ("td", "td")
            side = _side(column.align) or (" class=n" if number and len(text) <= LONGEST_UNBROKEN else "")
            cells.append(f"<{opening}{side}>{shown}</{closing}>")
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


def _allowed(script: str) -> str:
    """A script by its hash, for the policy: no other runs."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def _escaped(text: str) -> str:
    return escape(visible(text))


# The page loads nothing and runs nothing but its parts' own scripts, whatever a title or a document id holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

FRAME = """<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="Rankwell {version}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{content}
</main>
<footer>
{footer}
</footer>
{scripts}</body>
</html>
"""


@dataclass(frozen=True)
class Page:
    """A title and its parts; `command` is the user's command line, for the footer."""

    title: str
    parts: Sequence[Part]
    command: str | None = None
    lang: str = "en"
    version: str = __version__

    def __post_init__(self) -> None:
        """Check that headings skip no level, for screen readers."""
        level = 1
        for heading in (part for part in self.parts if isinstance(part, Heading)):
            if not 1 < heading.level <= level + 1:
                expected = f"a level from 2 to {level + 1} after one of level {level}"
                raise ParameterError(f"heading {heading.text}", expected=expected, found=heading.level)
            level = heading.level

    def html(self) -> str:
        """The page as text; the same parts always give the same text."""
        command = f" with <code>{escape(visible(self.command))}</code>" if self.command else ""
        scripted = {part.script: part.style for part in self.parts if isinstance(part, Scripted)}
        allowed = f"; script-src {' '.join(map(_allowed, scripted))}" if scripted else ""
        return FRAME.format(
            lang=escape(self.lang),
            policy=escape(POLICY + allowed),
            version=escape(self.version),
            title=escape(visible(self.title)),
            # Text has a contrast of at least 7 : 1 to its background, in light and dark mode.
            style="".join([(files("rankwell.report") / "page.css").read_text(encoding="utf-8"), *scripted.values()]),
            scripts="".join(f"<script>{script}</script>\n" for script in scripted),
            content="\n".join(self._content()),
            footer=f"<p>Made by Rankwell {escape(self.version)}{command}</p>",
        )

    def _content(self) -> list[str]:
        """The parts in order; successive pictures share a grid, so that a wide window shows two side by side."""
        content = []
        for pictures, parts in groupby(self.parts, key=lambda part: isinstance(part, PicturePart)):
            rendered = "\n".join(part.html() for part in parts)
            content.append(f'<div class="pictures">\n{rendered}\n</div>' if pictures else rendered)
        return content
