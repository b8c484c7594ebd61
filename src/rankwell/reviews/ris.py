"""RIS: the format in which reference managers and the Cochrane Library exchange references.

Programs write it in many ways, and this reader takes them as they come: repeated tags, values over several lines, one
space or two before the dash, a missing `ER`, lines before the first record, any of three encodings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rankwell.core import atomic_write
from rankwell.reviews.reference import Reference, doi_in, exact_date, year_in
from rankwell.reviews.tagged import Tagged, checked_text, lines_of, tagged_values

# The tag stands at the start; a dash inside a value that goes on must not be taken for one.
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
    """Whether a record starts near the start of a text."""
    return re.search(r"^\s{0,3}TY {0,2}- ", text[:20_000].removeprefix("\ufeff"), re.MULTILINE) is not None


def read_ris(path: Path | str, encoding: str | None = None) -> list[Reference]:
    """The references of a file; gzipped or not, in UTF-8, UTF-16 (told by its mark) or Windows' Latin."""
    expected = "RIS, whose records start with `TY  - `"
    return parse_ris(checked_text(Path(path), encoding, looks_like_ris, expected))


def parse_ris(text: str) -> list[Reference]:
    """The references of a text."""
    return [reference_of(record) for record in ris_records(text)]


def ris_records(text: str) -> Iterator[Tagged]:
    """The records with all their tags."""
    record: Tagged | None = None
    for number, tag, value in tagged_values(text.removeprefix("\ufeff"), LINE):
        if tag == "TY" and record is not None:  # its end was left out
            yield record
            record = None
        if tag == "ER":
            if record is not None:
                yield record
            record = None
        elif tag == "TY":
            record = Tagged(number, [(tag, value)])
        elif record is not None and tag:
            record.values.append((tag, value))
        elif record is not None and value.strip():
            record.continued(value)
    if record is not None:
        yield record


def reference_of(record: Tagged) -> Reference:
    """What the tags of a record say. Where a program uses two tags for one thing, the usual one wins."""
    title_tag = next((tag for tag in TITLES if record.first(tag)), "")
    abstract_tag = next((tag for tag in ABSTRACTS if record.first(tag)), "")
    journal_tag = next((tag for tag in JOURNALS if record.first(tag)), "")
    taken = TAKEN | {title_tag, abstract_tag, journal_tag}
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
        more=tuple((tag, value) for tag, value in record.values if value and tag not in taken),
        source="ris",
    )


def write_ris(path: Path | str, references: Iterable[Reference]) -> None:
    """Write the references as UTF-8."""
    with atomic_write(path) as file:
        for reference in references:
            file.write(ris_text(reference).encode())


def ris_text(reference: Reference) -> str:
    """One reference with its end."""
    more = reference.more if reference.source == "ris" else ()
    known = {tag for tag, _ in more}
    pmid = [("AN", f"PMID:{reference.pmid}")] if reference.pmid and "AN" not in known else []
    dates = [
        ("PY", str(reference.year or "")),
        ("DA", reference.date.replace("-", "/") if "-" in reference.date else ""),
    ]
    pairs = [
        ("TY", reference.kind),
        ("TI", reference.title),
        *(("AU", author) for author in reference.authors),
        *dates,
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
    """In its own tag, or in one of those where programs without one put it."""
    given = record.first("DO")
    if given:
        return doi_in(given) or given
    return next((doi for tag in ("M3", "L3", "UR", "N1") for value in record.all(tag) if (doi := doi_in(value))), "")


def _pmid(record: Tagged) -> str:
    """As a number of the database: `AN  - PUBMED 123`, `AN  - PMID:123`, or a bare number from PubMed itself."""
    for tag in ("AN", "ID", "C2", "N1", "M1"):
        for value in record.all(tag):
            if found := PMID.search(value):
                return found[1]
    number, base = record.first("AN"), record.first("DB", "DP")
    is_pubmed = re.search(r"pubmed|medline", base, re.IGNORECASE) is not None
    return number if is_pubmed and number.isdecimal() else ""
