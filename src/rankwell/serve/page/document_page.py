"""A document: all its fields and metadata, with the words that it was found by."""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from rankwell.core import Document, RankwellError
from rankwell.match import parse_match
from rankwell.serve.page.places import ALL, Origin, origin_of
from rankwell.serve.page.result_rows import DOCUMENT
from rankwell.serve.page.rows import LONGEST_TITLE, cut, marked, str_of, title_of
from rankwell.serve.page.site import Site, site_of
from rankwell.serve.page.views import given_of
from rankwell.serve.snippets import HEADING

router = APIRouter(include_in_schema=False)
LONGEST = 20_000  # characters of a field that are shown at first
ADDRESSES = ("https://", "http://")


@router.get(DOCUMENT)
async def document(request: Request) -> Response:
    """The page of a document."""
    site = site_of(request)
    try:
        origin = origin_of(site, request.url.query)
    except RankwellError:
        raise HTTPException(404) from None
    found = site.service.searcher.document(origin.id) if origin.id else None
    if found is None:
        raise HTTPException(404)
    whole = bool(given_of(request.url.query).get(ALL))
    values = await site.service.pool.run(_values, site, found, origin, whole=whole)
    values["whole"] = site.link(DOCUMENT, [*parse_qsl(request.url.query, keep_blank_values=True), (ALL, "1")])
    return site.show(request, "document.html", values, here=DOCUMENT)


def _values(site: Site, found: Document, origin: Origin, *, whole: bool) -> dict[str, object]:
    index = site.index
    match = "expr" if origin.ranking.match == "expr" else "or"
    try:
        terms = set(index.analyzer(parse_match(match).words(origin.q)))
    except RankwellError:  # an expression that cannot be read
        terms = set()
    heading = title_of(found.fields, found.id)
    texts = []
    for name, text in found.fields.items():
        if name == HEADING and len(text) <= LONGEST_TITLE:
            continue
        shown = text if whole else text[:LONGEST]
        more = f"The first {LONGEST:,} of {len(text):,} characters." if len(shown) < len(text) else ""
        texts.append((name, marked(shown, terms, index.analyzer), more))
    facts = [(name, str_of(value), _link(value)) for name, value in found.metadata.items() if value not in (None, "")]
    return {
        "id": found.id,
        "q": origin.q,
        "heading": cut(heading, 80),
        "title": marked(heading, terms, index.analyzer),
        "facts": facts,
        "texts": texts,
        "back": origin.back,
    }


def _link(value: object) -> str:
    """A value of metadata that is an address of the web."""
    text = value if isinstance(value, str) else ""
    return text if text.startswith(ADDRESSES) and len(text.split()) == 1 else ""
