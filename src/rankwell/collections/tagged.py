"""Bibliographies of tagged lines: RIS, MEDLINE's format (`.nbib`), Web of Science (`.ciw`), EndNote (`.enw`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rankwell.collections.references import (
    Reference,
    Tagged,
    checked_text,
    doi_in,
    exact_date,
    lines_of,
    tagged_records,
    write_lines,
    year_in,
)

# RIS. Tags are at the start of a line only; a continuation line may hold a dash.
RIS_LINE = re.compile(r"^\s{0,3}([A-Z][A-Z0-9]) {0,2}-(?: (.*)|\s*)$")
RIS_TITLES = ("TI", "T1", "CT", "BT")
ABSTRACTS = ("AB", "N2")
AUTHORS = ("AU", "A1")
JOURNALS = ("JO", "JF", "T2", "JA", "J1", "J2")
DATES = ("DA", "PY", "Y1")
RIS_TAKEN = {"TY", "ER", "TI", "T1", "AB", "AU", "A1", "PY", "Y1", "DA", "DO", "KW", "UR", "JO"}
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
    return list(ris_references(text.splitlines()))


def ris_references(lines: Iterable[str]) -> Iterator[Reference]:
    """The references of a RIS file's lines."""
    return map(_ris_reference, tagged_records(lines, RIS_LINE, "TY", "ER"))


def _ris_reference(record: Tagged) -> Reference:
    """The reference of a record's tags. Of two tags with the same meaning the usual one wins."""
    taken = RIS_TAKEN | {
        next((tag for tag in tags if record.first(tag)), "") for tags in (RIS_TITLES, ABSTRACTS, JOURNALS)
    }
    date = exact_date(record.first(*DATES))
    published = year_in(record.first("PY", "Y1") or record.first("DA"))
    return Reference(
        title=record.first(*RIS_TITLES),
        abstract=" ".join(record.all(*ABSTRACTS)),
        authors=tuple(record.all(*AUTHORS)),
        year=published,
        date=date if date[:4] == str(published) else str(published or ""),
        journal=record.first(*JOURNALS),
        doi=_ris_doi(record),
        pmid=_ris_pmid(record),
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


def _ris_doi(record: Tagged) -> str:
    """The DOI in its own tag, or in one that other programs use for it."""
    given = record.first("DO")
    if given:
        return doi_in(given) or given
    return next((doi for tag in ("M3", "L3", "UR", "N1") for value in record.all(tag) if (doi := doi_in(value))), "")


def _ris_pmid(record: Tagged) -> str:
    """The PMID as an accession number: `AN  - PUBMED 123`, `AN  - PMID:123`, or a bare number from PubMed itself."""
    for tag in ("AN", "ID", "C2", "N1", "M1"):
        for value in record.all(tag):
            if match := PMID.search(value):
                return match[1]
    number, base = record.first("AN"), record.first("DB", "DP")
    is_pubmed = re.search(r"pubmed|medline", base, re.IGNORECASE) is not None
    return number if is_pubmed and number.isdecimal() else ""


# MEDLINE's format.
NBIB_LINE = re.compile(r"^([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)$")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NBIB_TAKEN = {"PMID", "TI", "AB", "AU", "DP", "JT", "OT"}


def looks_like_nbib(text: str) -> bool:
    """Whether a text begins with a record of MEDLINE's format."""
    return re.search(r"^PMID ?- ?\d", text[:20_000].removeprefix("\ufeff"), re.MULTILINE) is not None


def read_nbib(path: Path | str, encoding: str | None = None) -> list[Reference]:
    """Read the references of a file in MEDLINE's format."""
    expected = "MEDLINE's format, whose records start with `PMID- `"
    return parse_nbib(checked_text(Path(path), encoding, looks_like_nbib, expected))


def parse_nbib(text: str) -> list[Reference]:
    """Parse the references of a text in MEDLINE's format; each begins with its PMID."""
    return list(nbib_references(text.splitlines()))


def nbib_references(lines: Iterable[str]) -> Iterator[Reference]:
    """The references of a MEDLINE file's lines."""
    return map(_nbib_reference, tagged_records(lines, NBIB_LINE, "PMID"))


def _nbib_reference(record: Tagged) -> Reference:
    """The reference of a record's tags (https://pubmed.ncbi.nlm.nih.gov/help/#pubmed-format)."""
    published = record.first("DP")
    doi = next((doi_in(value) for value in [*record.all("LID"), *record.all("AID")] if value.endswith("[doi]")), "")
    return Reference(
        title=record.first("TI", "TT", "BTI"),
        abstract=record.first("AB"),
        authors=tuple(record.all("AU") + record.all("CN")),
        year=year_in(published),
        date=_nbib_date(published),
        journal=record.first("JT", "TA"),
        doi=doi,
        pmid=record.first("PMID"),
        keywords=tuple(record.all("OT")),
        more=record.others(NBIB_TAKEN),
        source="nbib",
    )


def write_nbib(path: Path | str, references: Iterable[Reference]) -> None:
    """Write the references as UTF-8; records start with a PMID, which may be empty."""
    write_lines(path, references, nbib_text)


def nbib_text(reference: Reference) -> str:
    """A reference in MEDLINE's format."""
    more = reference.more if reference.source == "nbib" else ()
    known = {tag for tag, _ in more}
    year, _, rest = reference.date.partition("-")
    month, _, day = rest.partition("-")
    date = " ".join(filter(None, (year or str(reference.year or ""), MONTHS[int(month) - 1] if month else "", day)))
    doi = [("LID", f"{reference.doi} [doi]")] if reference.doi and not known & {"LID", "AID"} else []
    collective = {value for tag, value in more if tag == "CN"}
    pairs = [
        ("DP", date),
        ("TI", reference.title),
        *doi,
        ("AB", reference.abstract),
        *(("AU", author) for author in reference.authors if author not in collective),
        ("JT", reference.journal),
        *(("OT", keyword) for keyword in reference.keywords),
        *more,
    ]
    return f"PMID- {reference.pmid}\n" + lines_of(pairs, "{:<4}- {}") + "\n"


def _nbib_date(published: str) -> str:
    """`2002 Sep 16` as 2002-09-16; a season or a range has only its year."""
    parts = published.split()
    if not parts or not year_in(parts[0]):
        return str(year_in(published) or "")
    exact = parts[0]
    if len(parts) > 1 and parts[1] in MONTHS:
        exact += f"-{MONTHS.index(parts[1]) + 1:02d}"
        if len(parts) > 2 and parts[2].isdecimal():  # noqa: PLR2004 -- year, month and day
            exact += f"-{int(parts[2]):02d}"
    return exact


# Web of Science, "Plain text" and `.ciw`: https://images.webofknowledge.com/images/help/WOS/hs_wos_fieldtags.html
WOS_LINE = re.compile(r"^([A-Z][A-Z0-9])(?: (.*)|\s*)$")
WOS_LISTS = frozenset(("AU", "AF", "BA", "CR", "C1", "BE", "CA"))  # a line each
WOS_TAKEN = {"PT", "AU", "TI", "AB", "SO", "PY", "DI", "PM", "DE", "ER", "EF"}
MONTH_NAMES = {name.upper(): place for place, name in enumerate(MONTHS, 1)}


def looks_like_wos(text: str) -> bool:
    """Whether a text begins with a record of Web of Science."""
    start = text[:20_000].removeprefix("\ufeff")
    return (
        re.match(r"FN [^\n]*\n", start) is not None or re.match(r"\s*PT [JBSP]\s*\n[A-Z][A-Z0-9] ", start) is not None
    )


def wos_references(lines: Iterable[str]) -> Iterator[Reference]:
    """The references of the lines of a file of Web of Science."""
    return map(_wos_reference, tagged_records(lines, WOS_LINE, "PT", "ER", WOS_LISTS))


def _wos_reference(record: Tagged) -> Reference:
    year, published = year_in(record.first("PY")), record.first("PD").split()
    month = MONTH_NAMES.get(published[0].upper()) if published else None
    return Reference(
        title=record.first("TI"),
        abstract=record.first("AB"),
        authors=tuple(record.all("AF", "AU", "BA") + record.all("CA")),
        year=year,
        date=f"{year}-{month:02d}" if year and month else str(year or ""),
        journal=record.first("SO"),
        doi=doi_in(record.first("DI", "D2")),
        pmid=record.first("PM"),
        keywords=tuple(part.strip() for part in record.first("DE").split(";") if part.strip()),
        kind=record.first("DT") or {"J": "JOUR", "B": "BOOK", "S": "SER", "P": "PAT"}.get(record.first("PT"), ""),
        more=record.others(WOS_TAKEN),
        source="wos",
    )


# EndNote's tagged export (`.enw`, after Unix's refer): https://support.clarivate.com/Endnote/s/article/EndNote-Refer-format
REFER_LINE = re.compile(r"^%(\S)(?:\s+(.*)|\s*)$")
REFER_TAKEN = {"0", "T", "X", "A", "E", "D", "8", "J", "B", "R", "U", "K"}


def looks_like_refer(text: str) -> bool:
    """Whether a text begins with a record of EndNote's tagged export."""
    return re.match(r"\s*%0 \S[^\n]*\n+%\S ", text[:20_000].removeprefix("\ufeff")) is not None


def refer_references(lines: Iterable[str]) -> Iterator[Reference]:
    """The references of the lines of an EndNote file."""
    return map(_refer_reference, tagged_records(lines, REFER_LINE, "0"))


def _refer_reference(record: Tagged) -> Reference:
    year = year_in(record.first("D", "8"))
    date = exact_date(record.first("8"))
    keywords = [part.strip() for value in record.all("K") for part in re.split(r"[;\n]", value)]
    return Reference(
        title=record.first("T"),
        abstract=record.first("X"),
        authors=tuple(name.rstrip(",") for name in record.all("A", "E")),
        year=year,
        date=date if year and date.startswith(str(year)) else str(year or ""),
        journal=record.first("J", "B"),
        doi=doi_in(record.first("R")) or doi_in(record.first("U")),
        url=record.first("U"),
        keywords=tuple(filter(None, keywords)),
        kind=record.first("0"),
        more=record.others(REFER_TAKEN),
        source="refer",
    )
