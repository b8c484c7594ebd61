"""Self-contained HTML pages: their parts, which escape all text, and their style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Protocol

from rankwell import __version__
from rankwell.core import ParameterError
from rankwell.report.pictures import Picture
from rankwell.report.renderers import cell_text, visible
from rankwell.report.table import Table

LONGEST_UNBROKEN = 24  # letters; a shorter cell, such as an interval, stays on one line


class Part(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """The part as HTML that is safe to put into a page."""
        ...


@dataclass(frozen=True)
class Heading:
    """A heading below the page's title: level 2, or deeper below another heading."""

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
    """A warning to the reader, such as a limit of the figures."""

    text: str

    def html(self) -> str:
        """As a marked paragraph."""
        return f'<p class="note">{_escaped(" ".join(self.text.split()))}</p>'


@dataclass(frozen=True)
class TablePart:
    """A table, which scrolls inside its own frame in a narrow window."""

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


# Text has a contrast of at least 7 : 1 to its background, in light and dark mode.
STYLE = """\
:root {
  color-scheme: light dark;
  --ground: #ffffff; --ink: #1c1c1c; --muted: #4a4a4a; --rule: #c9c9c9; --stripe: #f5f6f7; --mark: #004f7c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15181b; --ink: #ececec; --muted: #bcc1c6; --rule: #454b51; --stripe: #1d2125; --mark: #8ccbf2;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: break-word; -webkit-text-size-adjust: 100%;
}
main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
main { padding-top: 1.5rem; }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 .75rem; }
h1 { font-size: 1.75rem; margin-top: 0; }
h2 { font-size: 1.3rem; border-bottom: 1px solid var(--rule); padding-bottom: .3rem; }
h3 { font-size: 1.1rem; }
p { max-width: 42rem; margin: .75rem 0; }
.note { border-left: .25rem solid var(--mark); padding: .35rem .75rem; background: var(--stripe); }
.scroll { overflow-x: auto; margin: 1rem 0 1.5rem; }
.scroll:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0 .5rem; }
th, td { padding: .35rem .5rem; text-align: left; vertical-align: top; }
th:first-child, td:first-child { padding-left: .4rem; }
thead th { border-bottom: 2px solid var(--muted); vertical-align: bottom; }
tbody th { font-weight: 400; overflow-wrap: anywhere; min-width: 7rem; max-width: 24rem; }
tbody tr { border-bottom: 1px solid var(--rule); }
tbody tr:nth-child(even) { background: var(--stripe); }
.r { text-align: right; }
td.r, td.n { white-space: nowrap; }
.pictures {
  display: grid; gap: 1rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 27rem), 1fr));
}
figure {
  margin: 0; padding: .5rem; border: 1px solid var(--rule); border-radius: .4rem;
  background: #ffffff; color: #1c1c1c; /* also in the dark: pictures are drawn on white */
}
figure svg { display: block; width: 100%; max-width: 36rem; height: auto; margin: 0 auto; }
figcaption { font-size: .875rem; line-height: 1.4; padding: .4rem .3rem 0; }
code {
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9em; overflow-wrap: anywhere;
}
footer { color: var(--muted); font-size: .875rem; margin-top: 2.5rem; padding-bottom: 1.5rem; }
footer p { border-top: 1px solid var(--rule); max-width: none; padding-top: .75rem; }
@media (max-width: 30rem) {
  main, footer { padding-left: .75rem; padding-right: .75rem; }
  th, td { padding: .3rem .45rem; }
  figure { padding: .25rem; }
}
@page { margin: 15mm; }
@media print {
  :root { --ground: #ffffff; --ink: #000000; --muted: #333333; --rule: #999999; --stripe: #ffffff; --mark: #000000; }
  body { font-size: 10pt; }
  main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  .scroll { overflow: visible; }
  h2, h3, caption { break-after: avoid; }
  figure, tr, .note { break-inside: avoid; }
  thead { display: table-header-group; }
  .pictures { grid-template-columns: 1fr 1fr; }
}
"""


# The page loads and runs nothing, whatever a title or a document id holds.
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
</body>
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
        return FRAME.format(
            lang=escape(self.lang),
            policy=escape(POLICY),
            version=escape(self.version),
            title=escape(visible(self.title)),
            style=STYLE,
            content="\n".join(self._content()),
            footer=self._footer(),
        )

    def _content(self) -> list[str]:
        """The parts in order; successive pictures share a grid, so that a wide window shows two side by side."""
        content = []
        for pictures, parts in groupby(self.parts, key=lambda part: isinstance(part, PicturePart)):
            rendered = "\n".join(part.html() for part in parts)
            content.append(f'<div class="pictures">\n{rendered}\n</div>' if pictures else rendered)
        return content

    def _footer(self) -> str:
        maker = f"<p>Made by Rankwell {escape(self.version)}"
        return maker + (f" with <code>{escape(visible(self.command))}</code></p>" if self.command else "</p>")
