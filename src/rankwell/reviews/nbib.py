"""MEDLINE's own format (`.nbib`): what PubMed gives people who press "Send to: Citation manager"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rankwell.core import atomic_write
from rankwell.reviews.reference import Reference, doi_in, year_in
from rankwell.reviews.tagged import Tagged, checked_text, lines_of, tagged_values

LINE = re.compile(r"^([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)$")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
TAKEN = {"PMID", "TI", "AB", "AU", "DP", "JT", "OT"}


def looks_like_nbib(text: str) -> bool:
    """Whether a record starts near the start of a text."""
    return re.search(r"^PMID ?- ?\d", text[:20_000].removeprefix("\ufeff"), re.MULTILINE) is not None


def read_nbib(path: Path | str, encoding: str | None = None) -> list[Reference]:
    """The references of a file."""
    expected = "MEDLINE's format, whose records start with `PMID- `"
    return parse_nbib(checked_text(Path(path), encoding, looks_like_nbib, expected))


def parse_nbib(text: str) -> list[Reference]:
    """The references of a text."""
    return [reference_of(record) for record in nbib_records(text)]


def nbib_records(text: str) -> Iterator[Tagged]:
    """The records with all their tags; each starts with its PMID."""
    record: Tagged | None = None
    for number, tag, value in tagged_values(text.removeprefix("\ufeff"), LINE):
        if tag == "PMID":
            if record is not None:
                yield record
            record = Tagged(number, [(tag, value)])
        elif record is not None and tag:
            record.values.append((tag, value))
        elif record is not None and value.strip():
            record.continued(value)
    if record is not None:
        yield record


def reference_of(record: Tagged) -> Reference:
    """What the tags of a record say (https://pubmed.ncbi.nlm.nih.gov/help/#pubmed-format)."""
    published = record.first("DP")
    doi = next((doi_in(value) for value in [*record.all("LID"), *record.all("AID")] if value.endswith("[doi]")), "")
    return Reference(
        title=record.first("TI", "TT", "BTI"),
        abstract=record.first("AB"),
        authors=tuple(record.all("AU") + record.all("CN")),
        year=year_in(published),
        date=_date(published),
        journal=record.first("JT", "TA"),
        doi=doi,
        pmid=record.first("PMID"),
        keywords=tuple(record.all("OT")),
        more=tuple((tag, value) for tag, value in record.values if value and tag not in TAKEN),
        source="nbib",
    )


def write_nbib(path: Path | str, references: Iterable[Reference]) -> None:
    """Write the references as UTF-8; those without a PMID get an empty one, since records start with it."""
    with atomic_write(path) as file:
        for reference in references:
            file.write(nbib_text(reference).encode())


def nbib_text(reference: Reference) -> str:
    """One reference."""
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


def _date(published: str) -> str:
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
