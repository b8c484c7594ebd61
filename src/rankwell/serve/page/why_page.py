"""Why is this here? The words that were found and what each adds, what a model read, and the ranks after each stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from rankwell.core import RankwellError
from rankwell.pipelines import Explanation
from rankwell.rerank import PassageScore, Place
from rankwell.serve.page import stages
from rankwell.serve.page.places import Origin, origin_of
from rankwell.serve.page.result_rows import WHY
from rankwell.serve.page.rows import cut, title_of
from rankwell.serve.page.site import Site, site_of
from rankwell.serve.searching import Found

router = APIRouter(include_in_schema=False)
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
    """The explanation of one result."""
    site = site_of(request)
    try:
        origin = origin_of(site, request.url.query)
        stored = site.service.searcher.document(origin.id) if origin.id else None
        if stored is None or not origin.q:
            raise HTTPException(404)
        found = await _found(site, request, origin)
        values = await site.service.pool.run(_values, found, origin)
    except RankwellError as error:
        return site.pages.error(request, 422, words=site.words(error))
    values |= {"heading": title_of(stored.fields, stored.id), "back": origin.back, "model": origin.ranking.rerank}
    return site.show(request, "why.html", values, here=WHY)


async def _found(site: Site, request: Request, origin: Origin) -> Found:
    """The search, once more: the model remembers what it has read."""
    deepest = site.service.settings.max_k
    asked = site.request(origin.q, origin.filters, origin.ranking, k=deepest, fields="", snippets=False)
    response = await stages.first(site.service, asked)
    if asked.rerank is not None and response.results:
        response = await stages.second(site.service, asked, response, request)
    if response.found is None:
        raise RankwellError("the search: expected what it found, found nothing")
    return response.found


def _values(found: Found, origin: Origin) -> dict[str, Any]:
    because: Explanation = found.why(origin.id)
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
    held = found.index.terms_of(origin.id)
    words = found.index.analyzer.positions(found.asked)
    missing = {found.asked[start:end]: None for term, _, start, end in words if term not in held}
    read = because.read.passages if because.read is not None else ()
    return {
        "places": [{"name": STAGES.get(place.stage, place.stage), "words": _place(place)} for place in because.places],
        "terms": terms,
        "by_field": by_field,
        "total": f"{sum(part.part for part in because.terms):.3f}",
        "missing": list(missing),
        "passages": _passages(read),
    }


def _place(place: Place) -> str:
    if place.rank is None:
        return "not among the first"
    return f"number {place.rank:,}" + (f" ({place.score:.3f})" if place.score is not None else "")


def _passages(read: Sequence[PassageScore]) -> list[dict[str, str]]:
    """The best passages first."""
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
