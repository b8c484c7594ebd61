"""References of publications, and what their formats share: files of tagged lines, years, dates and DOIs."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.collections.columns import content_id
from rankwell.core import NOTHING, Document, FormatError, Phrase, RankwellError, atomic_write

LONGEST = 200_000  # characters of a value; no abstract is longer
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class Tagged(list[tuple[str, str]]):
    """One record: its tags with their values, in the order of the file."""

    def all(self, *tags: str) -> list[str]:
        """The values of the first of these tags that has any."""
        by_tag = ([value for own, value in self if own == tag and value] for tag in tags)
        return next(filter(None, by_tag), [])

    def first(self, *tags: str) -> str:
        """The first value of the first of these tags that has any, or an empty text."""
        return next(iter(self.all(*tags)), "")

    def go_on(self, text: str, lists: Collection[str]) -> None:
        """Add a line to the last value, or as another value of its tag; what is too long is cut."""
        tag, before = self[-1]
        if tag in lists and text:
            self.append((tag, text))
        elif text and len(before) < LONGEST:
            self[-1] = tag, f"{before} {text}".strip()

    def others(self, taken: Collection[str]) -> tuple[tuple[str, str], ...]:
        """The tags and values that have no field of their own."""
        return tuple((tag, value) for tag, value in self if value and tag not in taken)


def tagged_records(
    lines: Iterable[str], pattern: re.Pattern[str], start: str, end: str = "", lists: Collection[str] = ()
) -> Iterator[Tagged]:
    """The records of tagged lines; each begins with the tag `start`. Other lines continue the last value.

    Under the tags of `lists` each such line is a value of its own.
    """
    record: Tagged | None = None
    for number, raw in enumerate(lines):
        line = raw.removeprefix("\ufeff") if number == 0 else raw
        tag, value = match.groups("") if (match := pattern.match(line)) else ("", line)
        if record is not None and tag in {start, end} - {""}:
            yield record
            record = None
        if tag == start:
            record = Tagged([(tag, value.strip())])
        elif record is not None and tag:
            record.append((tag, value.strip()))
        elif record is not None:
            record.go_on(value.strip(), lists)
    if record is not None:
        yield record


def bibliography_text(path: Path, encoding: str | None = None) -> str:
    """A file's text in the given encoding or that of its byte order mark, else in UTF-8, else in Windows-1252."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            found = Phrase(f"one that is cut short or damaged ({error})")
            raise FormatError(path, None, expected="a whole gzip file", found=found) from error
    named = next((name for mark, name in MARKS.items() if content.startswith(mark)), encoding)
    try:
        return content.decode(named or "utf-8")
    except (UnicodeDecodeError, LookupError) as error:
        if named is None:
            return content.decode("cp1252", errors="replace")
        raise FormatError(path, None, expected=f"text in {named}", found=Phrase(str(error))) from error


def lines_of(pairs: Iterable[tuple[str, str]], line: str) -> str:
    """Tags and values as lines of a file, without empty values."""
    return "".join(line.format(tag, " ".join(value.split())) + "\n" for tag, value in pairs if value.strip())


def write_lines(path: Path | str, references: Iterable[Reference], write: Callable[[Reference], str]) -> None:
    """Write the references as UTF-8, each as `write` puts it."""
    with atomic_write(path) as file:
        for reference in references:
            file.write(write(reference).encode())


def checked_text(path: Path, encoding: str | None, looks_right: Callable[[str], bool], expected: str) -> str:
    """A file's text; an error unless it is empty or looks like the expected format."""
    text = bibliography_text(path, encoding)
    if text.strip() and not looks_right(text):
        first = next(line for line in text.splitlines() if line.strip())
        raise FormatError(path, 1, expected=expected, found=first)
    return text


DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
METADATA = ("year", "date", "authors", "journal", "doi", "pmid", "url", "keywords")
YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


@dataclass(frozen=True)
class Reference:
    """One publication. `more` holds the tags that have no field here, so that none is lost.

    The same tag means different things in different formats: `source` says in which one `more` was read ("ris",
    "nbib"), and only that format writes it.
    `date` is as exact as is known: 2015, 2015-03 or 2015-03-12, or empty.
    """

    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    date: str = ""
    journal: str = ""
    doi: str = ""
    pmid: str = ""
    url: str = ""
    keywords: tuple[str, ...] = ()
    kind: str = "JOUR"
    more: tuple[tuple[str, str], ...] = ()
    source: str = ""

    def row(self, own: str = "") -> dict[str, Any]:
        """The reference as a row of a table, without empty values; its id is `own`, else made from its content."""
        names = ("title", "abstract", *METADATA)
        values = {name: getattr(self, name) for name in names}
        row: dict[str, Any] = {
            name: "; ".join(of) if isinstance(of, tuple) else of for name, of in values.items() if of
        }
        if row.get("date") == str(self.year):
            del row["date"]
        row |= {"type": self.kind} if self.kind else {}
        return {"id": own or content_id(row), **row}

    def document(self, docno: str) -> Document:
        """The reference as a document with this id."""
        fields = {name: text for name in ("title", "abstract") if (text := getattr(self, name))}
        values = {name: getattr(self, name) for name in METADATA}
        known = {name: "; ".join(of) if isinstance(of, tuple) else of for name, of in values.items() if of}
        return Document(docno, fields, known or NOTHING)


def reference_of_document(document: Document) -> Reference:
    """A document as a reference: its title and abstract, and metadata of the names that bibliographies have."""
    known = {name: str(value) for name, value in document.metadata.items() if value not in (None, "")}

    def parts(name: str) -> tuple[str, ...]:
        return tuple(filter(None, map(str.strip, known.get(name, "").split(";"))))

    abstract = next((document.fields[name] for name in ("abstract", "text", "body") if name in document.fields), "")
    return Reference(
        title=document.fields.get("title") or document.id,
        abstract=abstract,
        authors=parts("authors"),
        year=year_in(known.get("year", "") or known.get("date", "")),
        date=known.get("date", ""),
        journal=known.get("journal", ""),
        doi=known.get("doi", ""),
        pmid=known.get("pmid", ""),
        url=known.get("url", ""),
        keywords=parts("keywords"),
    )


def year_in(text: str) -> int | None:
    """The first year from 1500 to 2099 in a text such as "2002 Sep" or "2016/04/15/"."""
    match = YEAR.search(text)
    return int(match[0]) if match else None


def doi_in(text: str) -> str:
    """The DOI in a text, without the address of a resolver before it and without punctuation behind it."""
    match = DOI.search(text)
    return match[0].rstrip(".,;") if match else ""


def exact_date(text: str) -> str:
    """A date with slashes, dots, dashes or nothing between its parts as 2016, 2016-04 or 2016-04-15."""
    parts = re.findall(r"\d+", text)
    if len(parts) == 1 and len(parts[0]) == len("20160415"):
        parts = [parts[0][:4], parts[0][4:6], parts[0][6:]]
    if not parts or len(parts[0]) != len("2016"):
        return str(year_in(text) or "")
    exact: str = parts[0]
    for part, largest in zip(parts[1:3], (12, 31), strict=False):
        if not 1 <= int(part) <= largest:
            break
        exact += f"-{int(part):02d}"
    return exact
