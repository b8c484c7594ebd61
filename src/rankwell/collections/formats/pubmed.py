"""PubMed and MEDLINE in XML: NLM's yearly files and answers of PubMed's E-utilities."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat
from rankwell.collections.reading import CUT, Reading, head, open_bytes, output
from rankwell.collections.safe_xml import NOT_IN_XML, elements, text_of
from rankwell.core import NOTHING, Document, FormatError, Phrase, RankwellError

log = logging.getLogger(__name__)

ARTICLES = ("PubmedArticle", "PubmedBookArticle", "MedlineCitation")
SETS = re.compile(r"<(PubmedArticleSet|PubmedBookArticleSet|MedlineCitationSet|PubmedArticle|MedlineCitation)[\s>]")
CHUNK = 1 << 16
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
YEAR = re.compile(r"\d{4}")
KNOWN = ("year", "date", "authors", "journal", "doi")


def _is_pubmed(path: Path, start: str) -> bool:
    """Whether it is a set of articles, or a folder whose first XML file is one."""
    if path.is_dir():
        first = next(iter(_files(path)), None)
        return first is not None and SETS.search(head(first)[:4096]) is not None
    return start.lstrip().startswith("<") and SETS.search(start[:4096]) is not None


def _read(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
    """Read the articles one at a time; in a folder every `.xml` and `.xml.gz` file in the order of their names."""
    for file in _files(path) if path.is_dir() else [path]:
        yield from _read_file(file, reading)


def _write(path: Path, documents: Iterable[Document]) -> None:
    """Write a set of articles, with the values that NLM has an element for."""
    lost = set[str]()
    with output(path) as file:
        file.write(b'<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>\n')
        for document in documents:
            lost |= (document.metadata.keys() - set(KNOWN)) | (document.fields.keys() - {"title", "abstract"})
            file.write(_written(document, path).encode())
        file.write(b"</PubmedArticleSet>\n")
    if lost:
        log.warning("%s: PubMed's XML has no place for %s", path, ", ".join(sorted(lost)))


PUBMED_XML = DocumentFormat("pubmed-xml", _is_pubmed, _read, _write)


def pubmed_document(article: Element) -> Document | None:
    """An article (or a book's chapter) as a document; None where it has no PMID.

    A structured abstract is one text, with the names of its parts in it (`METHODS: ...`). Authors are surnames with
    initials, separated by semicolons.
    """
    citation = next(
        (part for name in ("MedlineCitation", "BookDocument") if (part := article.find(name)) is not None), article
    )
    pmid = text_of(citation.find("PMID"))
    if not pmid:
        return None
    content = citation.find("Article")
    content = citation if content is None else content
    titles = (text_of(content.find(name)) for name in ("ArticleTitle", "VernacularTitle", "Book/BookTitle"))
    fields = {"title": next(filter(None, titles), ""), "abstract": _abstract(content)}
    date = _date(content)
    metadata: dict[str, Any] = {
        "year": int(date[:4]) if date else None,
        "date": date,
        "authors": "; ".join(filter(None, map(_author, content.findall("AuthorList/Author")))),
        "journal": text_of(content.find("Journal/Title")) or text_of(content.find("Book/BookTitle")),
        "doi": _doi(article, content),
    }
    known = {name: value for name, value in metadata.items() if value}
    return Document(pmid, {name: text for name, text in fields.items() if text}, known or NOTHING)


def _read_file(path: Path, reading: Reading) -> Iterator[Document]:
    with open_bytes(path, reading) as file:
        try:
            for line, article in elements(iter(lambda: file.read1(CHUNK), b""), ARTICLES, path):
                reading.place.line = line
                document = pubmed_document(article)
                if document is None:
                    reading.report(path, line, "a PMID for every article", Phrase("an article without one"))
                else:
                    yield document
        except CUT as error:
            reading.report(path, None, "a whole gzip file", Phrase(f"one that is cut short or damaged ({error})"))
        except FormatError as error:  # the rest of the file cannot be read
            reading.problems.add(error)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name.endswith((".xml", ".xml.gz")) and file.is_file())


def _abstract(content: Element) -> str:
    parts = []
    for part in content.findall("Abstract/AbstractText"):
        text, label = text_of(part), (part.get("Label") or "").strip()
        if text:
            parts.append(f"{label}: {text}" if label and label.upper() != "UNLABELLED" else text)
    return " ".join(parts)


def _author(author: Element) -> str:
    surname = text_of(author.find("LastName"))
    initials = text_of(author.find("Initials")) or text_of(author.find("ForeName"))
    return f"{surname} {initials}".strip() or text_of(author.find("CollectiveName"))


def _date(content: Element) -> str:
    """The publication date as far as known: 1998, 1998-12 or 1998-12-24."""
    for name in ("Journal/JournalIssue/PubDate", "Book/PubDate", "ArticleDate"):
        published = content.find(name)
        if published is None:
            continue
        free = text_of(published.find("MedlineDate"))  # such as "1998 Dec-1999 Jan"
        year = YEAR.search(text_of(published.find("Year")) or free)
        if year is None:
            continue
        month = _month(text_of(published.find("Month")) or free[year.end() :])
        day = text_of(published.find("Day"))
        return f"{year[0]}{month}" + (f"-{int(day):02d}" if month and day.isdecimal() else "")
    return ""


def _month(text: str) -> str:
    """A month's number or English name as `-09`; empty for a season."""
    text = text.strip().lower()
    if text.isdecimal() and 1 <= int(text) <= len(MONTHS):
        return f"-{int(text):02d}"
    return f"-{MONTHS.index(text[:3]) + 1:02d}" if text[:3] in MONTHS else ""


def _doi(article: Element, content: Element) -> str:
    places = (
        (content.findall("ELocationID"), "EIdType"),
        (article.findall("PubmedData/ArticleIdList/ArticleId"), "IdType"),
    )
    dois = (text_of(part) for parts, kind in places for part in parts if part.get(kind) == "doi")
    return next(filter(None, dois), "")


def _written(document: Document, path: Path) -> str:
    date = str(document.metadata.get("date") or document.metadata.get("year") or "")
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    authors = filter(None, map(str.strip, str(document.metadata.get("authors", "")).split(";")))
    dated = "".join(_element(name, text) for name, text in (("Year", year), ("Month", month), ("Day", day)))
    journal = f"<JournalIssue><PubDate>{dated}</PubDate></JournalIssue>" + _element(
        "Title", document.metadata.get("journal")
    )
    doi = _element("ELocationID", document.metadata.get("doi")).replace("<ELocationID>", '<ELocationID EIdType="doi">')
    abstract = _element("AbstractText", document.fields.get("abstract"))
    article = (
        f"<Journal>{journal}</Journal>{_element('ArticleTitle', document.fields.get('title'))}{doi}"
        f"<Abstract>{abstract}</Abstract><AuthorList>{''.join(map(_written_author, authors))}</AuthorList>"
    )
    citation = f"{_element('PMID', document.id)}<Article>{article}</Article>"
    text = f"<PubmedArticle><MedlineCitation>{citation}</MedlineCitation></PubmedArticle>\n"
    if odd := NOT_IN_XML.search(text):
        raise RankwellError(f"{path}: document {document.id!r} has {odd[0]!r}, which XML cannot hold")
    return text


def _written_author(author: str) -> str:
    surname, _, initials = author.rpartition(" ")
    named = _element("LastName", surname) + _element("Initials", initials) if surname else _element("LastName", author)
    return f"<Author>{named}</Author>"


def _element(name: str, value: Any) -> str:
    return f"<{name}>{escape(str(value))}</{name}>" if value else ""
