"""Rows of a response."""

from __future__ import annotations

from dataclasses import replace

from rankwell.serve.page.ranking import Pairs
from rankwell.serve.page.rows import Row, facts_of, passages_of, title_pieces
from rankwell.serve.page.site import Site
from rankwell.serve.page.views import View, address
from rankwell.serve.responses import Result, SearchResponse
from rankwell.serve.snippets import HEADING

DOCUMENT, WHY = "/document", "/why"


def rows_of(site: Site, view: View, response: SearchResponse) -> list[Row]:
    """The results of a response with their links and judgments."""
    pairs = replace(view, wait=False).pairs(site.usual)
    grades = site.grades(view.q)
    several = len([name for name in site.index.fields if name != HEADING]) > 1
    return [
        row_of(site, view.q, result, pairs, grade=grades.get(result.id), named=several, page=(view.offset, view.k))
        for result in response.results
    ]


def row_of(
    site: Site,
    q: str,
    result: Result,
    pairs: Pairs,
    *,
    named: bool,
    page: tuple[int, int],
    grade: int | None = None,
    inside: Pairs | None = None,
) -> Row:
    """A result; `pairs` are its page's address, `inside` says where on it, `page` is what comes before and its size."""
    offset, k = page
    first = result.first_rank
    return Row(
        q=q,
        id=result.id,
        rank=result.rank,
        title=title_pieces(result),
        facts=facts_of(result),
        passages=passages_of(result),
        named=named,
        first_rank=first,
        moved=result.moved,
        new=first is not None and first > offset + k,
        grade=grade,
        link=site.link(DOCUMENT, [("id", result.id), *(inside or []), *pairs]),
        why=site.link(WHY, [("id", result.id), *(inside or []), *pairs]),
        back=address("", pairs).removeprefix("?"),
    )
