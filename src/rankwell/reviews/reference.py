"""A reference: what a bibliography, a database's export or a screening list knows about one publication."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rankwell.core.document import NOTHING, Document

DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


@dataclass(frozen=True)
class Reference:
    """One publication. `more` holds the tags that have no field here, as they were read, so that none is lost.

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
        """As a document of a collection, under this id."""
        fields = {name: text for name in ("title", "abstract") if (text := getattr(self, name))}
        values = {
            "year": self.year,
            "date": self.date,
            "authors": "; ".join(self.authors),
            "journal": self.journal,
            "doi": self.doi,
            "pmid": self.pmid,
            "url": self.url,
            "keywords": "; ".join(self.keywords),
        }
        known = {name: value for name, value in values.items() if value}
        return Document(docno, fields, known or NOTHING)


def year_in(text: str) -> int | None:
    """The first year from 1500 to 2099 in a text such as "2002 Sep" or "2016/04/15/"."""
    found = YEAR.search(text)
    return int(found[0]) if found else None


def doi_in(text: str) -> str:
    """The DOI in a text, without the address of a resolver before it and without punctuation behind it."""
    found = DOI.search(text)
    return found[0].rstrip(".,;") if found else ""


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
