"""A finished picture: as SVG text, or saved as PNG, SVG or PDF."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwell.core import ParameterError
from rankwell.core.files import atomic_write
from rankwell.plots.style import drawing, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What each format would say about when and with what it was made, left out so that the same figures give the same
# bytes and a picture names no outside address.
UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
}

# In the SVG that matplotlib writes, `<` and `>` stand for themselves only around a tag: in words they are escaped.
_TAG = re.compile(r"<[^<>]*>")
_NAME = re.compile(r'\bid="|url\(#|href="#')


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture with its words: `title` is in it, `alt` is the sentence for those who do not see it."""

    figure: Figure = field(repr=False)
    title: str
    alt: str

    def __post_init__(self) -> None:
        """Lay the picture out once: matplotlib would move its parts by a hair each time it is drawn."""
        with drawing():
            self.figure.draw_without_rendering()
            self.figure.set_layout_engine("none")

    def svg(self) -> str:
        """One `<svg>` element that can stand alone or inside a page: no outside resource, names that do not clash."""
        drawn = self._bytes("svg").decode("utf-8")
        start = drawn.index("<svg")
        head_end = drawn.index(">", start)
        name = "p" + hashlib.sha256(f"{self.alt}\n{drawn}".encode(errors="replace")).hexdigest()[:10]
        head = f'{drawn[start:head_end]} role="img" aria-labelledby="title desc">'
        described = f'\n <title id="title">{_escaped(self.title)}</title>\n <desc id="desc">{_escaped(self.alt)}</desc>'
        whole = head + described + drawn[head_end + 1 :]
        whole = whole.replace('aria-labelledby="title desc"', f'aria-labelledby="{name}-title {name}-desc"', 1)
        return _TAG.sub(lambda tag: _NAME.sub(lambda found: f"{found[0]}{name}-", tag[0]), whole)

    def save(self, path: Path | str) -> None:
        """Write the picture; the end of the name says how: .pdf, .png or .svg."""
        path = Path(path)
        kind = path.suffix.lower().lstrip(".")
        if kind not in UNDATED:
            raise ParameterError("picture", expected="a name that ends in .pdf, .png or .svg", found=path.name)
        content = self.svg().encode("utf-8") if kind == "svg" else self._bytes(kind)
        with atomic_write(path) as file:
            file.write(content)

    def _bytes(self, kind: str) -> bytes:
        """The picture in one of matplotlib's formats. Drawn in memory, where PNG and PDF may seek."""
        out = io.BytesIO()
        with drawing():
            self.figure.savefig(out, format=kind, metadata=UNDATED[kind])
        return out.getvalue()


def _escaped(text: str) -> str:
    return escape(words(text, longest=1000), quote=False)
