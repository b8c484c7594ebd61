"""Bibliographies as documents: RIS, nbib, Web of Science, EndNote (tagged or XML), BibTeX; a reference a document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element

from rankwell.collections.bibtex import BibtexEntries, looks_like_bibtex
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat, cannot_be_written
from rankwell.collections.reading import Reading, byte_blocks, text_lines
from rankwell.collections.references import Reference, bibliography_text, doi_in, year_in
from rankwell.collections.safe_xml import elements, text_of
from rankwell.collections.tables import Row, documents_of_table
from rankwell.collections.tagged import (
    looks_like_nbib,
    looks_like_refer,
    looks_like_ris,
    looks_like_wos,
    nbib_references,
    refer_references,
    ris_references,
    wos_references,
)
from rankwell.core import Document, FormatError, Phrase

Tags = Callable[[Iterable[str]], Iterator[Reference]]
TAGGED: dict[str, tuple[str, Callable[[str], bool], Tags]] = {
    "ris": ("RIS", looks_like_ris, ris_references),
    "nbib": ("MEDLINE", looks_like_nbib, nbib_references),
    "wos": ("Web of Science", looks_like_wos, wos_references),
    "enw": ("EndNote", looks_like_refer, refer_references),
}
BLOCK = 1 << 18


def references_in(path: Path, encoding: str | None = None) -> list[Reference] | None:
    """The references of a bibliography of any format; None where it is none."""
    text = bibliography_text(path, encoding)
    for _, looks_right, parse in TAGGED.values():
        if looks_right(text):
            return list(parse(text.splitlines()))
    if looks_like_bibtex(text):
        found = list(BibtexEntries(enumerate(text.splitlines(), 1)))
        bad = next(((number, of) for number, _, of in found if isinstance(of, ValueError)), None)
        if bad is not None:
            raise FormatError(path, bad[0], expected=str(bad[1]), found=Phrase("none"))
        return [of for _, _, of in found if isinstance(of, Reference)]
    if looks_like_endnote_xml(text):
        blocks = elements([text.encode()], {"record"}, path, "EndNote XML", "utf-8")
        return [_endnote_reference(record) for _, record in blocks]
    return None


def looks_like_endnote_xml(text: str) -> bool:
    """Whether a text begins as EndNote's XML."""
    start = r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>\s*)?<xml>\s*<records>"
    return re.match(start, text[:2000].removeprefix("\ufeff")) is not None


def _documents(
    rows: Iterator[Row], name: str, path: Path, reading: Reading, choice: ColumnChoice, *, own: bool
) -> Iterator[Document]:
    documents = documents_of_table(path, rows, choice, reading, typed=True, details=[name])
    reading.place.by_content = not own and choice.id is None  # a repeated id is the same reference again
    return documents


def _read_tagged(name: str, parse: Tags, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    def rows() -> Iterator[Row]:
        lines = (line for _, line in text_lines(path, reading))
        none = True
        for reference in parse(lines):
            none = False
            yield reading.place.line or 0, reference.row(_own_id(reference))
        if none and path.stat().st_size:
            reading.report(path, 1, f"records of {name}", Phrase("none"))

    return _documents(rows(), name, path, reading, choice, own=parse in (nbib_references, wos_references))


def _own_id(reference: Reference) -> str:
    """The id that a database gave: PubMed's, or that of Web of Science."""
    if reference.source == "wos":
        return next((value for tag, value in reference.more if tag == "UT"), "")
    return reference.pmid if reference.source == "nbib" else ""


def _read_bibtex(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    def rows() -> Iterator[Row]:
        for number, key, reference in BibtexEntries(text_lines(path, reading)):
            if isinstance(reference, ValueError):
                reading.report(path, number, str(reference), Phrase("none"))
            else:
                yield number, reference.row(key)

    return _documents(rows(), "BibTeX", path, reading, choice, own=True)


def _read_endnote_xml(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    def rows() -> Iterator[Row]:
        blocks = (block for _, block in byte_blocks(path, reading, BLOCK))
        try:
            for number, record in elements(blocks, {"record"}, path, "EndNote XML", "utf-8"):
                yield number, _endnote_reference(record).row()
        except FormatError as error:
            reading.problems.add(error)

    return _documents(rows(), "EndNote XML", path, reading, choice, own=False)


def _endnote_reference(record: Element) -> Reference:
    def first(*places: str) -> str:
        return next((text for place in places if (text := text_of(record.find(place)))), "")

    kind = record.find("ref-type")
    names = ("contributors/authors/author", "contributors/secondary-authors/author")
    authors = next(filter(None, ([text_of(one) for one in record.iterfind(name)] for name in names)), [])
    return Reference(
        title=first("titles/title", "titles/secondary-title"),
        abstract=first("abstract"),
        authors=tuple(filter(None, authors)),
        year=year_in(first("dates/year", "dates/pub-dates/date")),
        journal=first("periodical/full-title", "titles/secondary-title", "titles/alt-title"),
        doi=doi_in(first("electronic-resource-num")),
        url=first("urls/related-urls/url", "urls/web-urls/url"),
        keywords=tuple(filter(None, map(text_of, record.iterfind("keywords/keyword")))),
        kind=(kind.get("name") or "") if kind is not None else "",
        source="endnote",
    )


def _looks(right: Callable[[str], bool], _: Path, start: str) -> bool:
    return right(start)


TAGGED_FORMATS = tuple(
    DocumentFormat(
        name,
        partial(_looks, looks_right),
        partial(_read_tagged, title, parse),
        cannot_be_written(title),
    )
    for name, (title, looks_right, parse) in TAGGED.items()
)
BIBTEX = DocumentFormat("bibtex", lambda _, start: looks_like_bibtex(start), _read_bibtex, cannot_be_written("BibTeX"))
ENDNOTE_XML = DocumentFormat(
    "endnote-xml", lambda _, start: looks_like_endnote_xml(start), _read_endnote_xml, cannot_be_written("EndNote XML")
)
