"""References from any export: a bibliography (RIS, nbib, BibTeX, EndNote, Web of Science), a table, a printed list."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from rankwell.collections.formats.bibliographies import references_in
from rankwell.collections.references import Reference, bibliography_text, doi_in, exact_date, year_in
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.reviews.matching import author_names
from rankwell.reviews.printed import parse_reference_list

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
    found = references_in(path, encoding)
    if found is not None:
        return found
    text = bibliography_text(path, encoding)
    try:
        return _table(path, text)
    except FormatError:
        printed = parse_reference_list(text)
        if printed is None:
            raise
        return printed


def _table(path: Path, text: str) -> list[Reference]:
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = {str(name).strip().lower(): str(name) for name in rows.fieldnames or ()}
    columns = {ours: names[known] for ours, aliases in COLUMNS.items() for known in reversed(aliases) if known in names}
    if "title" not in columns:
        formats = "a bibliography (RIS, nbib, BibTeX, EndNote, Web of Science)"
        expected = f"{formats}, a printed list of references, or a table with a column title"
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
