"""A document's page (text, citation, similar documents), and its explanation: what each word and a model added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, HTTPException, Request, Response

from rankwell.apps.search.api.routes import download
from rankwell.apps.search.page.results import DOCUMENT, LONGEST_TITLE, WHY, cut, marked, str_of, title_of
from rankwell.apps.search.page.site import ALL, ID, Origin, Site, origin_of, site_of
from rankwell.apps.search.page.views import address, given_of, last
from rankwell.apps.search.responses import HEADING
from rankwell.apps.search.searcher import SearchState
from rankwell.collections.bibtex import bibtex_text
from rankwell.collections.references import reference_of_document
from rankwell.collections.tagged import ris_text
from rankwell.core import Document, RankwellError
from rankwell.models.explanation import PassageScore, StageRank
from rankwell.retrieve import parse_match
from rankwell.retrieve.similar import similar_documents

router = APIRouter(include_in_schema=False)
LONGEST = 20_000  # characters of a field that are shown at first
ADDRESSES = ("https://", "http://")
CITE = "/cite/"
CITATIONS, ENDINGS = {"ris": "RIS", "bibtex": "BibTeX"}, {"ris": "ris", "bibtex": "bib"}
SIMILAR = 5


@router.get(CITE + "{kind}")
async def cite(request: Request, kind: str) -> Response:
    """A document as a reference, for programs that keep bibliographies."""
    site = site_of(request)
    docno = last(given_of(request.url.query), ID)
    stored = site.service.searcher.document(docno) if docno and kind in CITATIONS else None
    if stored is None:
        raise HTTPException(404)
    reference = reference_of_document(stored)
    text = ris_text(reference) if kind == "ris" else bibtex_text(reference, stored.id)
    return download(f"reference.{ENDINGS[kind]}", text.encode())


@router.get(DOCUMENT)
async def document(request: Request) -> Response:
    """Render the page of a document."""
    site = site_of(request)
    try:
        origin = origin_of(site, request.url.query)
    except RankwellError:
        raise HTTPException(404) from None
    stored = site.service.searcher.document(origin.id) if origin.id else None
    if stored is None:
        raise HTTPException(404)
    whole = bool(given_of(request.url.query).get(ALL))
    values = await site.service.pool.run(_values, site, stored, origin, whole=whole)
    own = address(DOCUMENT, [(ID, stored.id)])
    values["share"] = (site.service.settings.base_url or str(request.base_url)).rstrip("/") + own
    values["citations"] = [(name, site.link(CITE + kind, [(ID, stored.id)])) for kind, name in CITATIONS.items()]
    values["whole"] = site.link(DOCUMENT, [*parse_qsl(request.url.query, keep_blank_values=True), (ALL, "1")])
    return site.show(request, "document.html", values)


def _values(site: Site, stored: Document, origin: Origin, *, whole: bool) -> dict[str, object]:
    index = site.index
    match = "expr" if origin.ranking.match == "expr" else "or"
    try:
        terms = set(index.analyzer(parse_match(match).words(origin.q)))
    except RankwellError:  # an invalid query expression
        terms = set()
    heading = title_of(stored.fields, stored.id)
    texts = []
    for name, text in stored.fields.items():
        if name == HEADING and len(text) <= LONGEST_TITLE:
            continue
        shown = text if whole else text[:LONGEST]
        more = f"The first {LONGEST:,} of {len(text):,} characters." if len(shown) < len(text) else ""
        texts.append((name, marked(shown, terms, index.analyzer), more))
    facts = [(name, str_of(value), _link(value)) for name, value in stored.metadata.items() if value not in (None, "")]
    return {
        "id": stored.id,
        "q": origin.q,
        "heading": cut(heading, 80),
        "title": marked(heading, terms, index.analyzer),
        "facts": facts,
        "texts": texts,
        "back": origin.back,
        "similar": [
            (site.link(DOCUMENT, [(ID, docno)]), title_of(index.documents[docno].fields, docno))
            for docno, _ in similar_documents(index, stored.id, SIMILAR)
        ],
    }


def _link(value: object) -> str:
    """The metadata value if it is a web address, else ""."""
    text = value if isinstance(value, str) else ""
    return text if text.startswith(ADDRESSES) and len(text.split()) == 1 else ""


MOST_PASSAGES = 3
LONGEST_PASSAGE = 700
STAGES = {
    "BM25": "BM25",
    "RM3": "RM3",
    "Dense": "Vectors",
    "fused": "Both together",
    "SimilarQueries": "Similar queries",
}


@router.get(WHY)
async def why(request: Request) -> Response:
    """Render the explanation of one result."""
    site = site_of(request)
    try:
        origin = origin_of(site, request.url.query)
        stored = site.service.searcher.document(origin.id) if origin.id else None
        if stored is None or not origin.q:
            raise HTTPException(404)
        # The search is repeated; the model's scores come from its cache.
        more = {"k": site.service.settings.max_k, "fields": "", "snippets": False}
        state = await site.search(origin.q, origin.filters, origin.ranking, request, **more)
        values = await site.service.pool.run(_why_values, state, origin)
    except RankwellError as error:
        return site.pages.error(request, 422, words=site.words(error))
    values |= {"heading": title_of(stored.fields, stored.id), "back": origin.back, "model": origin.ranking.rerank}
    return site.show(request, "why.html", values)


def _why_values(state: SearchState, origin: Origin) -> dict[str, Any]:
    because = state.why(origin.id)
    by_field = any(part.field for part in because.terms)
    terms = [
        {
            "term": part.term,
            "field": part.field,
            "frequency": f"{part.frequency:,}",
            "documents": f"{part.documents:,}",
            "idf": f"{part.idf:.2f}",
            "part": f"{part.part:.3f}",
        }
        for part in sorted(because.terms, key=lambda part: -part.part)
    ]
    held = state.index.terms_of(origin.id)
    words = state.index.analyzer.positions(state.asked)
    missing = {state.asked[start:end]: None for term, _, start, end in words if term not in held}
    read = because.read.passages if because.read is not None else ()
    return {
        "places": [{"name": STAGES.get(place.stage, place.stage), "words": _place(place)} for place in because.places],
        "terms": terms,
        "by_field": by_field,
        "total": f"{sum(part.part for part in because.terms):.3f}",
        "missing": list(missing),
        "passages": _passages(read),
    }


def _place(place: StageRank) -> str:
    if place.rank is None:
        return "not among the first"
    return f"number {place.rank:,}" + (f" ({place.score:.3f})" if place.score is not None else "")


def _passages(read: Sequence[PassageScore]) -> list[dict[str, str]]:
    """The passages for the template, best first."""
    best = sorted(read, key=lambda passage: -passage.score)[:MOST_PASSAGES]
    many = f", best of {len(read)} passages" if len(read) > 1 else ""
    return [
        {
            "text": cut(passage.text, LONGEST_PASSAGE),
            "words": f"{passage.probability:.1%} relevant, says the model (score {passage.score:.2f})"
            + (many if passage is best[0] else ""),
        }
        for passage in best
    ]
