"""The style of all pictures, and a finished picture: as SVG text, or saved as PNG, SVG or PDF."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import re
import textwrap
import threading
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.core import MissingExtraError, ParameterError, atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# Okabe and Ito's colours, which people with any common colour blindness tell apart. Yellow is left out, too pale on
# white for a line; the order puts strong contrasts first.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
# Line kinds go with the colours, so that a black-and-white print can still be read.
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# With more series than colours, colours repeat with hatches.
HATCHES = ("", "////", "....")

INK = "#222222"
MUTED = "#5A5A5A"
GRID = "#E3E3E3"
OUTSIDE = "#C8C8C8"  # for what is outside an order, such as "unjudged" among grades

# Narrow on purpose: on a phone's 360 pixels the letters stay above 9 pixels, and two pictures fit a page's width.
WIDTH, HEIGHT = 4.8, 3.0
LONGEST_LABEL = 60
LONGEST_TITLE = 110
# Letters that fit beside each other: above the axes, along the bottom, up the side, and in a legend of one column.
TITLE_LETTERS, BOTTOM_LETTERS, SIDE_LETTERS, LEGEND_LETTERS = 38, 46, 30, 46
# Inches: a row of the legend, and the sign and the spaces that go with each name.
LEGEND_ROW, LEGEND_SIGN = 0.19, 0.6
TITLE_ROW = 0.19
POINTS = 72  # in an inch

LOOK: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 8,
    "axes.unicode_minus": True,
    "figure.facecolor": "white",
    "font.family": ["sans-serif"],
    # DejaVu comes with matplotlib, so the layout is the same everywhere; the others are for viewers of an SVG.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "pdf.fonttype": 42,  # TrueType, which publishers ask for
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud
    "svg.hashsalt": "rankwell",  # the same picture has the same ids, hence the same bytes
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a query is a dollar sign
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
}

_one_at_a_time = threading.RLock()


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Set the style inside a block. One thread at a time: matplotlib's settings are global."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("pictures", extra="plots") from error
    with _one_at_a_time, matplotlib.rc_context(), warnings.catch_warnings():
        # Neither a user's matplotlibrc nor a style set by other code may change our bytes.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOK)
        # A script that DejaVu lacks is drawn as boxes, without a warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def new_axes(title: str, *, x: str = "", y: str = "", height: float = HEIGHT) -> tuple[Figure, Axes]:
    """An empty picture with title and axis labels; call it inside `drawing()`."""
    from matplotlib.figure import Figure

    shown = wrapped(title, TITLE_LETTERS, LONGEST_TITLE)
    figure = Figure(figsize=(WIDTH, height + TITLE_ROW * shown.count("\n")), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(shown)
    axes.set_xlabel(wrapped(x, BOTTOM_LETTERS))
    axes.set_ylabel(wrapped(y, SIDE_LETTERS))
    return figure, axes


def whole_numbers(axis: Axis, most: int = 7) -> None:
    """Ticks at whole numbers only, with a thousands separator."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(lambda value, _: figure_text(value))


def legend_below(figure: Figure, axes: Axes, most: int = 4) -> None:
    """A legend below the axes; none for a single series.

    It has as many columns as fit, and the picture grows by the rows after the first.
    """
    from matplotlib.textpath import TextPath

    handles, names = axes.get_legend_handles_labels()
    if len(names) < 2:  # noqa: PLR2004 -- one thing needs no telling apart
        return
    names = [words(name, LEGEND_LETTERS) for name in names]
    size = LOOK["legend.fontsize"]
    widths = [TextPath((0, 0), name, size=size).get_extents().width / POINTS + LEGEND_SIGN for name in names]
    several = range(min(len(names), most), 1, -1)
    # The largest number of columns with which all names fit into the picture, as matplotlib deals them out.
    columns = next((n for n in several if sum(max(part) for part in np.array_split(widths, n)) <= WIDTH), 1)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + LEGEND_ROW * (-(-len(names) // columns) - 1))
    figure.legend(handles, names, loc="outside lower left", ncols=columns, columnspacing=1.4)


def ramp(steps: int) -> list[str]:
    """Colours from pale to dark for ordered things, such as grades; distinguishable without colour vision."""
    from matplotlib import colormaps, colors

    places = [0.2 + 0.75 * step / max(1, steps - 1) for step in range(steps)]
    return [colors.to_hex(colormaps["YlGnBu"](place)) for place in places]


def words(text: str, longest: int = LONGEST_LABEL) -> str:
    """Text for a picture: on one line, shortened, without characters that file formats cannot hold."""
    kept = "".join(char if unicodedata.category(char)[0] != "C" else "\ufffd" for char in " ".join(text.split()))
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def wrapped(text: str, letters: int, longest: int = LONGEST_LABEL) -> str:
    """The text wrapped into lines of at most `letters` letters."""
    return "\n".join(textwrap.wrap(words(text, longest), letters))


def figure_text(value: float, digits: int = 1) -> str:
    """A number as 1,234 or 12.5, without `.0`."""
    if math.isnan(value):
        return "-"
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# Metadata on date and program is left out of each format, so that the same figures give the same
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
    """One picture; `title` is drawn in it, `alt` is its alternative text."""

    figure: Figure = field(repr=False)
    title: str
    alt: str

    def __post_init__(self) -> None:
        """Lay the picture out once: matplotlib would move its parts slightly each time it is drawn."""
        with drawing():
            self.figure.draw_without_rendering()
            self.figure.set_layout_engine("none")

    def svg(self) -> str:
        """One `<svg>` element, alone or for a page: no outside resource, unique ids."""
        drawn = self._bytes("svg").decode("utf-8")
        start = drawn.index("<svg")
        head_end = drawn.index(">", start)
        name = "p" + hashlib.sha256(f"{self.alt}\n{drawn}".encode(errors="replace")).hexdigest()[:10]
        head = f'{drawn[start:head_end]} role="img" aria-labelledby="title desc">'
        described = f'\n <title id="title">{_escaped(self.title)}</title>\n <desc id="desc">{_escaped(self.alt)}</desc>'
        whole = head + described + drawn[head_end + 1 :]
        whole = whole.replace('aria-labelledby="title desc"', f'aria-labelledby="{name}-title {name}-desc"', 1)
        return _TAG.sub(lambda tag: _NAME.sub(lambda match: f"{match[0]}{name}-", tag[0]), whole)

    def save(self, path: Path | str) -> None:
        """Write the picture as .pdf, .png or .svg, by the file's name."""
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
