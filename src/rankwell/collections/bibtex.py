"""BibTeX and BibLaTeX: entries one at a time, LaTeX's accents as letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rankwell.collections.references import Reference, doi_in, exact_date, year_in

START = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
LONGEST = 2_000_000  # characters of an entry
BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
NO_ENTRIES = frozenset(("comment", "preamble"))
KEY = re.compile(r"\s*([^,\s{}=]+)\s*(?:,|$)")
FIELD = re.compile(r"\s*,?\s*([\w:.+/-]+)\s*=\s*")
BARE = re.compile(r"[^\s,#{}\"]+")
TAKEN = frozenset(
    (
        *("title", "abstract", "author", "year", "date", "month", "journal", "journaltitle", "doi", "pmid", "url"),
        *("keywords", "booktitle"),
    )
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
    "b": "\u0331",
}
LETTERS = {
    "ss": "ß",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "aa": "å",
    "AA": "Å",
    "i": "i",
    "j": "j",
    "dh": "ð",
    "DH": "Ð",
    "th": "þ",
    "TH": "Þ",
    "textendash": "\u2013",
    "ldots": "…",
    "textemdash": "—",
    "dots": "…",
    "textquoteright": "\u2019",
    "textregistered": "®",
    "copyright": "©",
    "S": "§",
}
SIGN_ACCENT = re.compile(r"\\([`'^~=.\"])\s*(?:\{\\?([A-Za-z])\s*\}|\\?([A-Za-z]))")
LETTER_ACCENT = re.compile(r"\\([uvHcdbkr])(?:\s*\{\\?([A-Za-z])\s*\}|\s+\\?([A-Za-z]))")
COMMAND = re.compile(r"\\([A-Za-z]+)(?:\s+|(?![A-Za-z]))")


def looks_like_bibtex(text: str) -> bool:
    """Whether a text has a BibTeX entry, or a definition, at the start of a line."""
    start = text[:20_000].removeprefix("\ufeff")
    entry = re.search(r"^\s*@\s*[A-Za-z]+\s*[{(]\s*[^\s,{}()\"]+\s*,", start, re.MULTILINE)
    return entry is not None or re.match(r"\s*@\s*(?:string|preamble|comment)\s*[{(]", start, re.IGNORECASE) is not None


@dataclass
class BibtexEntries:
    """The references in the lines of a BibTeX file, each with its line and key; a ValueError in place of a bad one.

    An entry that is never closed ends where the next one starts.
    """

    lines: Iterable[tuple[int, str]]
    strings: dict[str, str] = field(default_factory=lambda: {month: month for month in MONTHS})

    def __iter__(self) -> Iterator[tuple[int, str, Reference | ValueError]]:
        for number, kind, content in self._entries():
            if content is None:
                yield number, "", ValueError(f"an entry @{kind} of at most {LONGEST:,} characters that is closed")
            elif kind == "string":
                self.strings |= {name.lower(): text for name, text in self._fields(content).items()}
            elif kind not in NO_ENTRIES and (key := KEY.match(content)):
                values = self._fields(content[key.end() :])
                yield number, key[1], reference_of(kind, values)
            elif kind not in NO_ENTRIES:
                yield number, "", ValueError(f"a key in the entry @{kind}")

    def _entries(self) -> Iterator[tuple[int, str, str | None]]:
        """Line, type and content of each entry; None for the content of one that is not closed."""
        first, kind, depth, size, parts = 0, "", 0, 0, list[str]()
        for number, line in self.lines:
            rest, waiting = line + "\n", True
            while waiting:
                waiting, start = False, START.match(rest.lstrip()) if parts else START.search(rest)
                if start and (not parts or (depth > 0 and KEY.match(rest.lstrip()[start.end() :]))):
                    if parts:  # the one before was never closed
                        yield first, kind, None
                    text = rest.lstrip() if parts else rest
                    first, kind, depth, size = number, start[1].lower(), 1, 0
                    parts, rest = [""], text[start.end() :]
                if parts:
                    end, depth = _closing(rest, depth)
                    parts.append(rest[:end])
                    size += end
                    if depth == 0:
                        yield first, kind, "".join(parts)
                        parts, rest, waiting = [], rest[end + 1 :], True
                    elif size > LONGEST:
                        yield first, kind, None
                        parts = []
        if parts:
            yield first, kind, None

    def _fields(self, text: str) -> dict[str, str]:
        values, place = dict[str, str](), 0
        while match := FIELD.match(text, place):
            value, place = self._value(text, match.end())
            values.setdefault(match[1].lower(), value)
        return values

    def _value(self, text: str, place: int) -> tuple[str, int]:
        """The value at that place, joined by `#`, and the place behind it."""
        parts = []
        while place < len(text):
            if text[place] == "{":
                end, _ = _closing(text, 1, place + 1)
                parts.append(text[place + 1 : end])
                place = end + 1
            elif text[place] == '"':
                end = _quoted_end(text, place + 1)
                parts.append(text[place + 1 : end])
                place = end + 1
            elif bare := BARE.match(text, place):
                parts.append(self.strings.get(bare[0].lower(), bare[0]))
                place = bare.end()
            else:
                break
            after = re.compile(r"\s*#\s*").match(text, place)
            if after is None:
                break
            place = after.end()
        return "".join(parts), place


def _closing(text: str, depth: int, place: int = 0) -> tuple[int, int]:
    """Where the braces close, and the depth there; the end of the text where they do not."""
    for match in BRACES.finditer(text, place):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start(), 0
    return len(text), depth


def _quoted_end(text: str, place: int) -> int:
    depth = 0
    for match in re.compile(r'\\.|[{}"]', re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[0] == '"' and depth <= 0:
            return match.start()
    return len(text)


def reference_of(kind: str, values: Mapping[str, str]) -> Reference:
    """The reference of an entry's type and fields."""
    texts = {name: plain(value) for name, value in values.items()}
    year = year_in(texts.get("year", "")) or year_in(texts.get("date", ""))
    month = texts.get("month", "").strip().lower()[:3]
    date = exact_date(texts.get("date", "").partition("/")[0])
    if not date and year and month in MONTHS:
        date = f"{year}-{MONTHS.index(month) + 1:02d}"
    authors = re.split(r"\s+and\s+", values.get("author", "") or values.get("editor", ""))
    return Reference(
        title=texts.get("title", ""),
        abstract=texts.get("abstract", ""),
        authors=tuple(name for author in authors if (name := plain(author))),
        year=year,
        date=date if year and date.startswith(str(year)) else str(year or ""),
        journal=next((texts[name] for name in ("journal", "journaltitle", "booktitle") if texts.get(name)), ""),
        doi=doi_in(values.get("doi", "").replace("\\", "")) or doi_in(values.get("url", "")),
        pmid=texts.get("pmid", ""),
        url=values.get("url", "").strip().replace("\\", ""),
        keywords=tuple(part.strip() for part in re.split(r"[;,]", texts.get("keywords", "")) if part.strip()),
        kind=kind,
        more=tuple((name, text) for name, text in texts.items() if text and name not in TAKEN),
        source="bibtex",
    )


def plain(text: str) -> str:
    r"""LaTeX as plain text: `{\"o}` as ö, commands and braces out, white space as single spaces."""
    if "\\" in text:
        for accent in (SIGN_ACCENT, LETTER_ACCENT):
            text = accent.sub(lambda match: (match[2] or match[3]) + ACCENTS[match[1]], text)
        text = COMMAND.sub(lambda match: LETTERS.get(match[1], ""), text)
        text = re.sub(r"\\([&%$_#{}])", lambda match: "" if match[1] in "{}" else match[1], text)
        text = text.replace("\\", "")
    text = re.sub(r"[{}]|(?<!\\)\$", "", text).replace("~", " ").replace("---", "—").replace("--", "\u2013")
    return " ".join(unicodedata.normalize("NFC", text).split())


# What TeX reads as a command. Braces have names, because BibTeX counts those behind a backslash, too.
SPECIAL = {mark: f"\\{mark}" for mark in "&%$#_"}
SPECIAL |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
SPECIAL |= {"{": "\\textbraceleft{}", "}": "\\textbraceright{}"}


def bibtex_text(reference: Reference, key: str) -> str:
    """A reference as an entry of BibTeX. Letters and digits of `key` are its key."""
    name = re.sub(r"[^A-Za-z0-9_.:-]+", "-", key).strip("-") or "reference"
    values = {
        "title": reference.title,
        "author": " and ".join(reference.authors),
        "year": str(reference.year or ""),
        "journal": reference.journal,
        "doi": reference.doi,
        "url": reference.url,
        "keywords": ", ".join(reference.keywords),
        "abstract": reference.abstract,
    }
    kind = "article" if reference.journal else "misc"
    lines = [f"  {field} = {{{_escaped(value)}}}," for field, value in values.items() if value.strip()]
    return "\n".join([f"@{kind}{{{name},", *lines, "}", ""])


def _escaped(value: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in " ".join(value.split()))
