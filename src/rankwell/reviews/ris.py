"""References, and files of tagged lines; RIS, the format of reference managers and the Cochrane Library."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rankwell.core import NOTHING, Document, FormatError, Phrase, RankwellError, atomic_write

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

    def others(self, taken: Collection[str]) -> tuple[tuple[str, str], ...]:
        """The tags and values that have no field of their own."""
        return tuple((tag, value) for tag, value in self if value and tag not in taken)


def tagged_records(text: str, pattern: re.Pattern[str], start: str, end: str = "") -> Iterator[Tagged]:
    """The records of a file of tagged lines; each begins with the tag `start`. Other lines continue the last value."""
    record: Tagged | None = None
    for line in text.removeprefix("\ufeff").splitlines():
        tag, value = match.groups("") if (match := pattern.match(line)) else ("", line)
        if record is not None and tag in {start, end} - {""}:
            yield record
            record = None
        if tag == start:
            record = Tagged([(tag, value.strip())])
        elif record is not None and tag:
            record.append((tag, value.strip()))
        elif record is not None:
            tag, before = record[-1]
            record[-1] = tag, f"{before} {value.strip()}".strip()
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

    def document(self, docno: str) -> Document:
        """The reference as a document with this id."""
        fields = {name: text for name in ("title", "abstract") if (text := getattr(self, name))}
        values = {name: getattr(self, name) for name in METADATA}
        known = {name: "; ".join(of) if isinstance(of, tuple) else of for name, of in values.items() if of}
        return Document(docno, fields, known or NOTHING)


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


# Tags are at the start of a line only; a continuation line may hold a dash.
LINE = re.compile(r"^\s{0,3}([A-Z][A-Z0-9]) {0,2}-(?: (.*)|\s*)$")
TITLES = ("TI", "T1", "CT", "BT")
ABSTRACTS = ("AB", "N2")
AUTHORS = ("AU", "A1")
JOURNALS = ("JO", "JF", "T2", "JA", "J1", "J2")
DATES = ("DA", "PY", "Y1")
TAKEN = {"TY", "ER", "TI", "T1", "AB", "AU", "A1", "PY", "Y1", "DA", "DO", "KW", "UR", "JO"}
PMID = re.compile(r"(?:PUBMED|PMID|MEDLINE)[:\s-]*(\d{1,9})", re.IGNORECASE)
END = "ER  - \n\n"


def looks_like_ris(text: str) -> bool:
    """Whether a text begins with a RIS record."""
    return re.search(r"^\s{0,3}TY {0,2}- ", text[:20_000].removeprefix("\ufeff"), re.MULTILINE) is not None


def read_ris(path: Path | str, encoding: str | None = None) -> list[Reference]:
    """Read a RIS file; gzipped or not, in UTF-8, UTF-16 (with a byte order mark) or Windows-1252."""
    expected = "RIS, whose records start with `TY  - `"
    return parse_ris(checked_text(Path(path), encoding, looks_like_ris, expected))


def parse_ris(text: str) -> list[Reference]:
    """Parse the references of a RIS text."""
    return [reference_of(record) for record in tagged_records(text, LINE, "TY", "ER")]


def reference_of(record: Tagged) -> Reference:
    """The reference of a record's tags. Of two tags with the same meaning the usual one wins."""
    taken = TAKEN | {next((tag for tag in tags if record.first(tag)), "") for tags in (TITLES, ABSTRACTS, JOURNALS)}
    date = exact_date(record.first(*DATES))
    published = year_in(record.first("PY", "Y1") or record.first("DA"))
    return Reference(
        title=record.first(*TITLES),
        abstract=" ".join(record.all(*ABSTRACTS)),
        authors=tuple(record.all(*AUTHORS)),
        year=published,
        date=date if date[:4] == str(published) else str(published or ""),
        journal=record.first(*JOURNALS),
        doi=_doi(record),
        pmid=_pmid(record),
        url=record.first("UR"),
        keywords=tuple(record.all("KW")),
        kind=record.first("TY") or "JOUR",
        more=record.others(taken),
        source="ris",
    )


def write_ris(path: Path | str, references: Iterable[Reference]) -> None:
    """Write the references as RIS in UTF-8."""
    write_lines(path, references, ris_text)


def ris_text(reference: Reference) -> str:
    """A reference in RIS, with its end tag."""
    more = reference.more if reference.source == "ris" else ()
    known = {tag for tag, _ in more}
    pmid = [("AN", f"PMID:{reference.pmid}")] if reference.pmid and "AN" not in known else []
    pairs = [
        ("TY", reference.kind),
        ("TI", reference.title),
        *(("AU", author) for author in reference.authors),
        ("PY", str(reference.year or "")),
        ("DA", reference.date.replace("-", "/") if "-" in reference.date else ""),
        ("JO", reference.journal),
        ("AB", reference.abstract),
        ("DO", reference.doi),
        *pmid,
        ("UR", reference.url),
        *(("KW", keyword) for keyword in reference.keywords),
        *more,
    ]
    return lines_of(pairs, "{}  - {}") + END


def _doi(record: Tagged) -> str:
    """The DOI in its own tag, or in one that other programs use for it."""
    given = record.first("DO")
    if given:
        return doi_in(given) or given
    return next((doi for tag in ("M3", "L3", "UR", "N1") for value in record.all(tag) if (doi := doi_in(value))), "")


def _pmid(record: Tagged) -> str:
    """The PMID as an accession number: `AN  - PUBMED 123`, `AN  - PMID:123`, or a bare number from PubMed itself."""
    for tag in ("AN", "ID", "C2", "N1", "M1"):
        for value in record.all(tag):
            if match := PMID.search(value):
                return match[1]
    number, base = record.first("AN"), record.first("DB", "DP")
    is_pubmed = re.search(r"pubmed|medline", base, re.IGNORECASE) is not None
    return number if is_pubmed and number.isdecimal() else ""
