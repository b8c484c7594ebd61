"""One HTML page that holds everything it shows: it can be mailed, printed and opened years later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from rankwell import __version__
from rankwell.core import ParameterError
from rankwell.report.cells import visible
from rankwell.report.html_parts import Heading, Part, PicturePart
from rankwell.report.html_style import STYLE

# Nothing is fetched and nothing runs, whatever a title or a document id may hold.
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
    """A title and parts below it; `command` is what the user typed to make it, for the footer."""

    title: str
    parts: Sequence[Part]
    command: str | None = None
    lang: str = "en"
    version: str = __version__

    def __post_init__(self) -> None:
        """Headings may not skip a level: people who hear a page move through it by them."""
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
        """The parts in order; pictures in a row share a grid, so that a wide window shows two abreast."""
        content = []
        for pictures, parts in groupby(self.parts, key=lambda part: isinstance(part, PicturePart)):
            rendered = "\n".join(part.html() for part in parts)
            content.append(f'<div class="pictures">\n{rendered}\n</div>' if pictures else rendered)
        return content

    def _footer(self) -> str:
        maker = f"<p>Made by Rankwell {escape(self.version)}"
        return maker + (f" with <code>{escape(visible(self.command))}</code></p>" if self.command else "</p>")
