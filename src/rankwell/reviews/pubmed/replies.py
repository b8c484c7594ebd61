"""What E-utilities answer: lists of ids, articles, and several kinds of errors."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element, tostring

from rankwell.collections.formats.pubmed_xml import ARTICLES, pubmed_document
from rankwell.collections.safe_xml import elements, text_of
from rankwell.core import Document, FormatError, RankwellError

SEARCH = "PubMed's answer to a search"
FETCH = "PubMed's answer to a request for articles"
# Errors that mean the question was wrong: asking again would give the same answer.
FINAL = ("empty term", "invalid uid", "id list is empty", "api key", "invalid db", "cannot be parsed")


class ServiceError(RankwellError):
    """The service could not answer just now; asking again may help."""


@dataclass(frozen=True)
class SearchResult:
    """The ids in the service's order, how many documents match in all, and what it remarked (words it ignored)."""

    ids: tuple[str, ...]
    count: int
    remarks: tuple[str, ...] = ()


def search_result(answer: bytes) -> SearchResult:
    """Read an answer of esearch; raises ServiceError where it is broken or an error that may pass."""
    found = _first(answer, "eSearchResult", SEARCH)
    _refuse_errors(found)
    count = text_of(found.find("Count"))
    if not count.isdecimal():
        raise ServiceError(f"{SEARCH}: expected a count, found none")
    remarks = [
        f"{part.tag}: {text_of(part)}" for name in ("ErrorList", "WarningList") for part in found.findall(f"{name}/*")
    ]
    ids = dict.fromkeys(filter(None, (text_of(part) for part in found.findall("IdList/Id"))))
    return SearchResult(tuple(ids), int(count), tuple(remarks))


def articles(answer: bytes) -> dict[str, bytes]:
    """The articles of an answer of efetch by PMID, each as XML of its own; raises ServiceError where it is broken."""
    found: dict[str, bytes] = {}
    root = False
    try:
        for _, element in elements([answer], (*ARTICLES, "eFetchResult", "ERROR"), FETCH):
            _refuse_errors(element)
            document = pubmed_document(element) if element.tag in ARTICLES else None
            if document is not None:
                found[document.id] = tostring(element, encoding="utf-8")
            root = True
    except FormatError as error:
        raise ServiceError(str(error)) from error
    if not root and b"ArticleSet" not in answer:
        raise ServiceError(f"{FETCH}: expected a set of articles, found {answer[:80]!r}")
    return found


def article_document(article: bytes) -> Document | None:
    """One of those articles as a document."""
    _, element = next(iter(elements([article], ARTICLES, FETCH)))
    return pubmed_document(element)


def _first(answer: bytes, name: str, what: str) -> Element:
    try:
        found = next(iter(elements([answer], (name, "ERROR"), what)), None)
    except FormatError as error:
        raise ServiceError(str(error)) from error
    if found is None:
        raise ServiceError(f"{what}: expected <{name}>, found {answer[:80]!r}")
    return found[1]


def _refuse_errors(element: Element) -> None:
    """An `<ERROR>` is the service's own trouble, but for those that say what was wrong with the question."""
    error = element if element.tag == "ERROR" else element.find("ERROR")
    if error is not None:
        said = text_of(error)
        kind = RankwellError if any(words in said.lower() for words in FINAL) else ServiceError
        raise kind(f"PubMed says: {said or 'an error without a word'}")
