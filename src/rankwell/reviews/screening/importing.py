"""Files that screening starts from: what databases and reference managers export, or any collection."""

from __future__ import annotations

from pathlib import Path

from rankwell.collections import Reading, open_collection
from rankwell.core import Document, FormatError, RankwellError
from rankwell.reviews.reference import Reference, doi_in, year_in
from rankwell.reviews.references import read_references

TEXTS = ("title", "abstract")


def read_records(source: Path | str, reading: Reading | None = None) -> list[Reference]:
    """The references of a file: RIS, PubMed's .nbib, a table with a column title, or a collection of any format."""
    path = Path(source)
    if path.is_file():
        try:
            found = read_references(path)
        except FormatError as error:
            found = _of_collection(source, reading, error)
    else:
        found = _of_collection(source, reading, RankwellError(f"{source}: no such file"))
    if not found:
        raise RankwellError(f"{source}: expected records, found none")
    return found


def reference_of(document: Document) -> Reference:
    """A document of a collection as a reference; texts other than title and abstract become part of the abstract."""
    told = {name: str(value).strip() for name, value in document.metadata.items() if value is not None}
    others = (text for name, text in document.fields.items() if name not in TEXTS)
    parts = (document.fields.get("abstract", ""), *others)
    return Reference(
        title=document.fields.get("title", ""),
        abstract="\n\n".join(part for part in parts if part.strip()),
        authors=tuple(part.strip() for part in told.get("authors", "").split(";") if part.strip()),
        year=year_in(told.get("year", "")) or year_in(told.get("date", "")),
        journal=told.get("journal", ""),
        doi=doi_in(told.get("doi", "")) or told.get("doi", ""),
        pmid=told.get("pmid", ""),
        url=told.get("url", ""),
        more=(("id", document.id),),
        source="collection",
    )


def _of_collection(source: Path | str, reading: Reading | None, first: RankwellError) -> list[Reference]:
    """What the file is not a bibliography for may still be a collection; if it is neither, the first error stands."""
    try:
        return [reference_of(document) for document in open_collection(source).documents(reading or Reading())]
    except RankwellError as error:
        raise first from error
