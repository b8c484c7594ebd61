"""Two rankings side by side, with links between the documents that both contain."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from rankwell.apps.search.page import views
from rankwell.apps.search.page.facets import chips
from rankwell.apps.search.page.rows import Row, row_of
from rankwell.apps.search.page.site import COMPARE, SIDE, Site, duration, site_of
from rankwell.apps.search.responses import SearchResponse
from rankwell.core import RankwellError

router = APIRouter(include_in_schema=False)
DEEP = 10
ARROWS = {views.LEFT: "→", views.RIGHT: "←"}


@dataclass(frozen=True)
class Side:
    """One of the two rankings."""

    prefix: str
    ranking: views.RankingSettings
    usual: views.RankingSettings
    pairs: views.Pairs = field(default_factory=list)  # of the address, without the settings of this side
    reset: str = ""
    rows: Sequence[Row] = ()
    warnings: Sequence[str] = ()
    trouble: str = ""
    took: str = ""

    @property
    def opposite(self) -> str:
        """The prefix of the other side's settings."""
        return views.RIGHT if self.prefix == views.LEFT else views.LEFT

    @property
    def arrow(self) -> str:
        """An arrow that points to the other side."""
        return ARROWS[self.prefix]

    @property
    def changed(self) -> int:
        """Number of settings that differ from the defaults."""
        return len(views.ranking_pairs(self.ranking, self.usual))


@router.get(COMPARE)
async def compare(request: Request) -> Response:
    """Render the comparison that the address asks for."""
    site = site_of(request)
    given, usual = views.given_of(request.url.query), site.usual_pair
    try:
        view = views.read_side_by_side(given, usual)
    except RankwellError as error:
        view = views.SideBySide(views.words_of(given), views.NO_FILTERS, *usual)
        sides = [replace(side, trouble=site.words(error)) for side in _sides(site, view)]
        return _page(site, request, view, sides, 422)
    elsewhere = site.shorter(request, COMPARE, view.pairs(usual))
    if elsewhere is not None:
        return elsewhere
    sides = _sides(site, view)
    if view.q:
        sides = _joined(await asyncio.gather(*(_searched(site, request, view, side) for side in sides)))
    return _page(site, request, view, sides, 422 if any(side.trouble for side in sides) else 200)


def _sides(site: Site, view: views.SideBySide) -> list[Side]:
    usual = site.usual_pair
    bare = replace(view, wait=False)
    left, right = replace(bare, left=usual[0]).pairs(usual), replace(bare, right=usual[1]).pairs(usual)
    return [
        Side(views.LEFT, view.left, usual[0], left, site.link(COMPARE, left)),
        Side(views.RIGHT, view.right, usual[1], right, site.link(COMPARE, right)),
    ]


async def _searched(site: Site, request: Request, view: views.SideBySide, side: Side) -> Side:
    try:
        state = await site.search(view.q, view.filters, side.ranking, request if view.wait else None, k=DEEP)
    except RankwellError as error:
        return replace(side, trouble=site.words(error))
    response = state.response
    rows = await site.service.pool.run(_rows, site, view, side, response)
    return replace(side, rows=rows, warnings=response.warnings, took=duration(response.took_ms))


def _rows(site: Site, view: views.SideBySide, side: Side, response: SearchResponse) -> list[Row]:
    pairs = replace(view, wait=False).pairs(site.usual_pair)
    place = [(SIDE, side.prefix.rstrip("."))]
    return [row_of(site, view.q, result, pairs, DEEP, side=place) for result in response.results]


def _joined(sides: Sequence[Side]) -> list[Side]:
    """Give every document its rank on the other side."""
    left, right = ({row.id: row.rank for row in side.rows} for side in sides)
    others = ((sides[0], right), (sides[1], left))
    return [replace(side, rows=[replace(row, other=ranks.get(row.id)) for row in side.rows]) for side, ranks in others]


def _agreement(sides: Sequence[Side]) -> str:
    """A sentence on how many documents the two rankings share."""
    rows = sides[0].rows
    if not rows or not sides[1].rows:
        return ""
    both = sum(row.other is not None for row in rows)
    same = sum(row.other == row.rank for row in rows)
    return f"{both} of {len(rows)} documents are on both sides, {same} of them at the same rank."


def _page(site: Site, request: Request, view: views.SideBySide, sides: Sequence[Side], status: int) -> Response:
    usual = site.usual_pair
    bare = replace(view, wait=False)
    asks = any(side.ranking.model and side.rows for side in sides) and not view.wait
    values = {
        "view": view,
        "offers": site.offers,
        "sides": sides,
        "agreement": _agreement(sides) if view.q else "Write a query to see what each ranking finds for it.",
        "rerank": site.link(COMPARE, replace(view, wait=True).pairs(usual)) if asks else "",
        "kept_pairs": [pair for pair in bare.pairs(usual) if pair[0] != "q"],
        "chips": chips(view.filters, lambda filters: site.link(COMPARE, replace(bare, filters=filters).pairs(usual))),
    }
    return site.show(request, "compare.html", values, views.query_pairs(view.q, view.filters), status)
