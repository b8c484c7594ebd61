"""The words of an HTML text: tags out, entities decoded, block elements as line breaks.

A scanner of our own, because it is linear in any input: Python's `html.parser` takes quadratic time for thousands of
unclosed tags in the versions that we support, and a tree takes memory for hostile nesting. Nothing is repaired, because
only the words are wanted.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

# Everything else starts a new line, so that no two words are glued together.
INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|mark|nobr|q|rp|rt|ruby|s|samp|small|span|"
    "strike|strong|sub|sup|time|tt|u|var|wbr"
)
CELLS = frozenset(("td", "th", "option", "button", "input", "label"))  # separate words, but stand in a line
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
DROPPED = frozenset(("nav", "template", "noscript", "svg", "math", "object", "select", "datalist", "dialog", "canvas"))

TAG = re.compile(r"(/?)([a-zA-Z][^\s/>]*)")
# A tag's end; a quoted value may hold the sign `>`.
REST = re.compile(r"""[^>"']*+(?:(?:"[^"]*+"|'[^']*+')[^>"']*+)*+>""")
DIGITS = re.compile(r"&#[0-9]{9,};?")  # no character, and too long for Python to read as a number
SPACES = re.compile(r"[^\S\n]+")
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-zA-Z]{2,8}|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")


@dataclass(frozen=True)
class Section:
    """A heading and the text below it, up to the next heading; the text before the first heading has none."""

    heading: str
    text: str


@dataclass(frozen=True)
class HtmlPage:
    """The title of a page (of its `title` element, else its first heading) and its sections in order."""

    title: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """All words, headings included."""
        return "\n".join(part for section in self.sections for part in (section.heading, section.text) if part)


def html_to_text(text: str) -> str:
    r"""The words of an HTML text or fragment.

    >>> html_to_text("<p>Caf&eacute; <b>cr</b>&egrave;me</p><p>au lait</p>")
    'Café crème\nau lait'
    """
    return parse_html(text).text


def parse_html(text: str) -> HtmlPage:
    """Title and sections of an HTML page."""
    return _Scanner(text).page()


def has_markup(text: str) -> bool:
    """Whether a text has a tag or an entity."""
    return MARKUP.search(text) is not None


@dataclass
class _Scanner:
    """One pass over the text; every search for an end either moves on or is not repeated."""

    source: str
    title: str = ""
    heading: str = ""
    in_heading: bool = False
    strict: bool = True  # whether quotes in tags are believed: not after one that is never closed
    parts: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    last_ends: dict[str, int] = field(default_factory=dict)

    def page(self) -> HtmlPage:
        """Scan all of it."""
        place, source = 0, self.source
        while (start := source.find("<", place)) >= 0:
            self.parts.append(source[place:start])
            place = self._after(start)
        self.parts.append(source[place:])
        self._close_heading()
        self._close_section()
        first = next((section.heading for section in self.sections if section.heading), "")
        return HtmlPage(self.title or first, tuple(self.sections))

    def _after(self, start: int) -> int:
        """Deal with the tag, comment or bare sign at `start`; the place behind it."""
        source = self.source
        if source.startswith("<!--", start):
            return self._behind("-->", start + 4)
        if source.startswith("<![CDATA[", start):
            end = self._behind("]]>", start)
            self.parts.append(html.escape(source[start + 9 : end].removesuffix("]]>"), quote=False))
            return end
        if source.startswith(("<!", "<?"), start):
            return self._behind(">", start)
        match = TAG.match(source, start + 1)
        end = self._tag_end(match.end()) if match else -1
        if match is None or end < 0:  # as in 3 < 5
            self.parts.append("<")
            return start + 1
        name = match[2].lower()
        if not match[1] and source[end - 2] != "/":
            return self._open(name, end)
        self._close(name)
        return end

    def _open(self, name: str, end: int) -> int:
        if name in RAW:
            content_end = self._closing(name, end)
            if name == "title" and not self.title:
                self.title = _words(self.source[end:content_end])
            return content_end
        if name in DROPPED:
            return self._skipped(name, end)
        if name in HEADINGS:
            self._close_heading()
            self._close_section()
            self.in_heading = True
        else:
            self._separate(name)
        return end

    def _close(self, name: str) -> None:
        if name in HEADINGS:
            self._close_heading()
        else:
            self._separate(name)

    def _separate(self, name: str) -> None:
        if name in CELLS:
            self.parts.append(" ")
        elif not INLINE.fullmatch(name):
            self.parts.append(" " if self.in_heading else "\n")

    def _skipped(self, name: str, end: int) -> int:
        """The place behind the end of an element whose content is dropped; one that is never closed is not dropped."""
        if self._last_end(name) < end:
            self._separate(name)
            return end
        depth, place = 1, end
        both = re.compile(rf"<(/?){name}(?=[\s/>])", re.IGNORECASE)
        while depth and (match := both.search(self.source, place)):
            depth += -1 if match[1] else 1
            place = match.end()
        self.parts.append("\n")
        return self._behind(">", place) if depth == 0 else place

    def _closing(self, name: str, start: int) -> int:
        """Where the end tag of a raw element starts; the end of the text where there is none."""
        if self._last_end(name) < start:
            return len(self.source)
        match = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(self.source, start)
        return match.start() if match else len(self.source)

    def _last_end(self, name: str) -> int:
        """Where the last end tag of that name is, looked up once."""
        if name not in self.last_ends:
            ends = [match.start() for match in re.finditer(rf"</{name}(?=[\s/>])", self.source, re.IGNORECASE)]
            self.last_ends[name] = ends[-1] if ends else -1
        return self.last_ends[name]

    def _tag_end(self, start: int) -> int:
        if self.strict:
            match = REST.match(self.source, start)
            if match:
                return match.end()
            self.strict = False
        if ">" not in self.last_ends:
            self.last_ends[">"] = self.source.rfind(">")
        if self.last_ends[">"] < start:
            return -1
        return self.source.find(">", start) + 1

    def _behind(self, mark: str, start: int) -> int:
        end = self.source.find(mark, start)
        return len(self.source) if end < 0 else end + len(mark)

    def _close_heading(self) -> None:
        if self.in_heading:
            self.heading = " ".join(_words("".join(self.parts)).split())
            self.parts.clear()
            self.in_heading = False

    def _close_section(self) -> None:
        text = _words("".join(self.parts))
        if text or self.heading:
            self.sections.append(Section(self.heading, text))
        self.parts.clear()
        self.heading = ""


def _words(text: str) -> str:
    """Text with entities decoded, one space between words, and no empty lines."""
    decoded = html.unescape(DIGITS.sub(" ", text)) if "&" in text else text
    lines = (SPACES.sub(" ", line).strip() for line in decoded.replace("\r", "\n").split("\n"))
    return "\n".join(line for line in lines if line)
