"""References from any export: RIS, MEDLINE's own format (`.nbib`), or a table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.reviews import ris
from rankwell.reviews.matching import author_names
from rankwell.reviews.ris import Reference, Tagged, doi_in, exact_date, year_in

LINE = re.compile(r"^([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)$")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
TAKEN = {"PMID", "TI", "AB", "AU", "DP", "JT", "OT"}


def looks_like_nbib(text: str) -> bool:
    """Whether a text begins with a record of MEDLINE's format."""
    return re.search(r"^PMID ?- ?\d", text[:20_000].removeprefix("\ufeff"), re.MULTILINE) is not None


def read_nbib(path: Path | str, encoding: str | None = None) -> list[Reference]:
    """Read the references of a file in MEDLINE's format."""
    expected = "MEDLINE's format, whose records start with `PMID- `"
    return parse_nbib(ris.checked_text(Path(path), encoding, looks_like_nbib, expected))


def parse_nbib(text: str) -> list[Reference]:
    """Parse the references of a text in MEDLINE's format; each begins with its PMID."""
    return [reference_of(record) for record in ris.tagged_records(text, LINE, "PMID")]


def reference_of(record: Tagged) -> Reference:
    """The reference of a record's tags (https://pubmed.ncbi.nlm.nih.gov/help/#pubmed-format)."""
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
        more=record.others(TAKEN),
        source="nbib",
    )


def write_nbib(path: Path | str, references: Iterable[Reference]) -> None:
    """Write the references as UTF-8; records start with a PMID, which may be empty."""
    ris.write_lines(path, references, nbib_text)


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
    return f"PMID- {reference.pmid}\n" + ris.lines_of(pairs, "{:<4}- {}") + "\n"


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


# Names of columns in PubMed, Scopus, Web of Science, Embase, ASReview and hand-made tables.
COLUMNS = {
    "title": ("title", "article title", "primary_title", "document title"),
    "abstract": ("abstract", "abstract note", "notes_abstract"),
    "authors": ("authors", "author", "author names", "authors full name"),
    "date": ("publication date", "date", "publication_date"),
    "year": ("year", "publication year", "publication_year"),
    "journal": ("journal", "journal/book", "source title", "publication title", "secondary_title"),
    "doi": ("doi",),
    "pmid": ("pmid", "pubmed id", "pubmed_id"),
    "url": ("url", "link"),
    "keywords": ("keywords", "author keywords"),
}
DELIMITERS = ",;\t"
LONGEST_FIELD = 10_000_000


def read_references(path: Path | str, encoding: str | None = None) -> list[Reference]:
    """The references of a file, whose format is detected."""
    path = Path(path)
    if not path.is_file():
        raise RankwellError(f"{path}: no such file")
    text = ris.bibliography_text(path, encoding)
    if ris.looks_like_ris(text):
        return ris.parse_ris(text)
    if looks_like_nbib(text):
        return parse_nbib(text)
    return _table(path, text)


def _table(path: Path, text: str) -> list[Reference]:
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = {str(name).strip().lower(): str(name) for name in rows.fieldnames or ()}
    columns = {ours: names[known] for ours, aliases in COLUMNS.items() for known in reversed(aliases) if known in names}
    if "title" not in columns:
        expected = "RIS (`TY  - `), MEDLINE's format (`PMID- `) or a table with a column title"
        raise FormatError(path, 1, expected=expected, found=Phrase(first[:80] or "an empty file"))
    try:
        return [_reference(row, columns) for row in rows]
    except csv.Error as error:
        raise FormatError(path, rows.line_num, expected="a row of the table", found=Phrase(str(error))) from error


def _reference(row: Mapping[str, str | None], columns: Mapping[str, str]) -> Reference:
    values = {ours: (row.get(column) or "").strip() for ours, column in columns.items()}
    taken = set(columns.values())
    year = year_in(values.get("year", "")) or year_in(values.get("date", ""))
    date = exact_date(values.get("date", ""))
    return Reference(
        title=values.get("title", ""),
        abstract=values.get("abstract", ""),
        authors=tuple(author_names(values.get("authors", ""))),
        year=year,
        date=date if year and date.startswith(str(year)) else str(year or ""),
        journal=values.get("journal", ""),
        doi=doi_in(values.get("doi", "")) or values.get("doi", ""),
        pmid=values.get("pmid", ""),
        url=values.get("url", ""),
        keywords=tuple(part.strip() for part in values.get("keywords", "").split(";") if part.strip()),
        more=tuple(
            (name, value)
            for name, value in row.items()
            if name and name not in taken and isinstance(value, str) and value
        ),
        source="csv",
    )
