"""The search page (query box, settings, filters, results), and the page with two rankings side by side."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import APIRouter, Request, Response

from rankwell.apps.search.api.problems import UNAVAILABLE
from rankwell.apps.search.page import views
from rankwell.apps.search.page.results import Box, Matched, Row, boxes, chips, matched_by, row_of
from rankwell.apps.search.page.site import COMPARE, DATES, SEARCH, SIDE, Site, counted, duration, site_of
from rankwell.apps.search.responses import RERANKED, SearchResponse
from rankwell.apps.search.searcher import SearchState
from rankwell.core import RankwellError
from rankwell.index.protocol import NUMBER
from rankwell.retrieve.sorting import RELEVANCE, TITLE, Sort

router = APIRouter(include_in_schema=False)
DEEP = 10
NO_TERMS = "no terms"  # part of a library warning that the page words differently


@dataclass(frozen=True)
class Shown:
    """Results and messages of a search, as the page shows them."""

    asked: bool = False
    count: str = ""
    took: str = ""
    said: str = ""
    trouble: str = ""
    rerank: str = ""  # address of the re-ranked results
    again: str = ""  # address to try again after the model timed out
    facets: Sequence[Box] = ()
    rows: Sequence[Row] = ()
    warnings: Sequence[str] = ()
    only_stop_words: bool = False
    unknown: Sequence[str] = ()
    any_word: str = ""
    by_vectors: str = ""
    first_page: str = ""
    before: str = ""
    after: str = ""
    last_page: int = 0


@router.get(SEARCH)
async def search(request: Request) -> Response:
    """Render the search that the address asks for."""
    site = site_of(request)
    given = views.given_of(request.url.query)
    try:
        view = views.read_view(given, site.usual)
    except RankwellError as error:
        view = views.View(views.words_of(given), ranking=site.usual)
        return _page(site, request, view, Shown(trouble=site.words(error), said=site.words(error)), 422)
    elsewhere = site.shorter(request, SEARCH, view.pairs(site.usual))
    if elsewhere is not None:
        return elsewhere
    if not view.q:
        return _page(site, request, view, Shown())
    try:
        more: dict[str, Any] = {"k": view.k, "offset": view.offset}
        if view.sort != RELEVANCE:
            more |= {"sort": view.sort}
        state = await site.search(view.q, view.filters, view.ranking, request if view.wait else None, **more)
        shown = await site.service.pool.run(_show_results, site, view, state, site.judge(request))
    except RankwellError as error:
        status = site.status(error)
        again = _link(site, view) if status == UNAVAILABLE else ""
        shown = Shown(trouble=site.words(error), said=site.words(error), again=again)
        return _page(site, request, view, shown, status)
    return _page(site, request, view, shown)


def _show_results(site: Site, view: views.View, state: SearchState, judge: str | None) -> Shown:
    response, matched, grades = state.response, matched_by(state, view.filters), site.grades(view.q, judge)
    pairs, last = replace(view, wait=False).pairs(site.usual), view.offset + view.k
    rows = [row_of(site, view.q, result, pairs, last, grade=grades.get(result.id)) for result in response.results]
    shown = Shown(
        asked=True,
        count=_count(view, matched),
        took=duration(response.took_ms),
        facets=boxes(matched, site.offers.facets, view, lambda to: _link(site, to), lambda to: to.pairs(site.usual)),
        rows=rows,
        warnings=[words for words in response.warnings if NO_TERMS not in words],
    )
    shown = replace(shown, said=_said(view, shown, response), **_pages(site, view, matched, rows))
    if not rows:
        return replace(shown, **_nothing(site, view, state))
    whole = _link(site, replace(view, wait=True))
    waits = view.ranking.model is not None and not view.wait and view.sort == RELEVANCE
    return replace(shown, rerank=whole if waits else "", again=whole if response.partial else "")


def _count(view: views.View, matched: Matched) -> str:
    """Number of matching documents in words; a search by vectors matches all documents."""
    if view.ranking.by != "words":
        return f"The nearest of {counted(len(matched.index), 'document')}"
    return counted(matched.total, "document")


def _said(view: views.View, shown: Shown, response: SearchResponse) -> str:
    """The status text for screen readers."""
    if response.stage != RERANKED:
        return f"{shown.count} found." if shown.rows else "Nothing was found."
    moved = sum(1 for row in shown.rows if row.moved)
    of = counted(len(shown.rows), "result")
    return f"Re-ranked by {view.ranking.model}: {moved} of {of} moved." if moved else "Re-ranked: nothing moved."


def _pages(site: Site, view: views.View, matched: Matched, rows: Sequence[Row]) -> dict[str, Any]:
    """Links to the first, the previous and the next page."""
    limit = site.service.settings.max_k
    total = min(matched.total if view.ranking.by == "words" else len(matched.index), limit)
    last = max(1, min(math.ceil(total / view.k), limit // view.k))
    there: dict[str, Any] = {"last_page": last if view.page <= last else 0}
    if view.page > 1:
        there["before"] = _link(site, replace(view, page=min(view.page - 1, last), wait=False))
        there["first_page"] = _link(site, replace(view, page=1, wait=False))
    if view.page < last and len(rows) == view.k:
        there["after"] = _link(site, replace(view, page=view.page + 1, wait=False))
    return there


def _nothing(site: Site, view: views.View, state: SearchState) -> dict[str, Any]:
    """Why nothing was found, and changes that would find something."""
    index, ranking = state.index, view.ranking
    words = index.analyzer.positions(state.asked)
    unknown = {state.asked[start:end]: None for term, _, start, end in words if not index.statistics(term).documents}
    easier = ranking.match != "or" and len(words) > len(unknown)
    meaning = site.offers.vectors and ranking.by == "words"
    return {
        "only_stop_words": not words and ranking.by == "words",
        "unknown": tuple(unknown)[:10],
        "any_word": _link(site, view.first_page(ranking=replace(ranking, match="or"))) if easier else "",
        "by_vectors": _link(site, view.first_page(ranking=replace(ranking, by="vectors", match="or")))
        if meaning
        else "",
    }


WORDS = {NUMBER: ("highest first", "lowest first"), DATES: ("newest first", "oldest first")}


def sort_choices(site: Site, chosen: str) -> list[tuple[str, str]]:
    """What results can be sorted by: numbers and dates among the metadata, and titles; with words for a menu."""
    choices = [(RELEVANCE, "Relevance")]
    for name, kind in site.offers.sorts:
        down, up = WORDS[kind]
        choices += [(str(Sort(name, descending=True)), f"{name}, {down}"), (str(Sort(name)), f"{name}, {up}")]
    choices += [(str(Sort(TITLE)), "Title")] if TITLE in site.offers.fields else []
    return choices if chosen in dict(choices) else [*choices, (chosen, chosen)]


def _link(site: Site, view: views.View) -> str:
    return site.link(SEARCH, view.pairs(site.usual))


def _page(site: Site, request: Request, view: views.View, shown: Shown, status: int = 200) -> Response:
    usual, across = site.usual, views.query_pairs(view.q, view.filters)
    values = {
        "view": view,
        "usual": usual,
        "offers": site.offers,
        "sizes": views.PAGE_SIZES,
        "sorts": [] if view.ranking.by != "words" else sort_choices(site, view.sort),
        "sort_pairs": replace(view, page=1, wait=False, sort=RELEVANCE).pairs(usual),
        "found": shown,
        "facets": shown.facets,
        "facets_open": False,
        "changed": len(views.ranking_pairs(view.ranking, usual)),
        "kept_pairs": [pair for pair in view.first_page().pairs(usual) if pair[0] != "q"],
        "settings_pairs": [*across, *([("sort", view.sort)] if view.sort != RELEVANCE else [])],
        "reset": _link(site, views.View(view.q, filters=view.filters, ranking=usual)),
        "cleared": _link(site, view.first_page(filters=views.NO_FILTERS)),
        "chips": chips(view.filters, lambda filters: _link(site, view.first_page(filters=filters))),
    }
    return site.show(request, "search.html", values, across, status)


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
        return "→" if self.prefix == views.LEFT else "←"

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
        return _compare_page(site, request, view, sides, 422)
    elsewhere = site.shorter(request, COMPARE, view.pairs(usual))
    if elsewhere is not None:
        return elsewhere
    sides = _sides(site, view)
    if view.q:
        sides = _joined(await asyncio.gather(*(_search_side(site, request, view, side) for side in sides)))
    return _compare_page(site, request, view, sides, 422 if any(side.trouble for side in sides) else 200)


def _sides(site: Site, view: views.SideBySide) -> list[Side]:
    usual = site.usual_pair
    bare = replace(view, wait=False)
    left, right = replace(bare, left=usual[0]).pairs(usual), replace(bare, right=usual[1]).pairs(usual)
    return [
        Side(views.LEFT, view.left, usual[0], left, site.link(COMPARE, left)),
        Side(views.RIGHT, view.right, usual[1], right, site.link(COMPARE, right)),
    ]


async def _search_side(site: Site, request: Request, view: views.SideBySide, side: Side) -> Side:
    try:
        state = await site.search(view.q, view.filters, side.ranking, request if view.wait else None, k=DEEP)
    except RankwellError as error:
        return replace(side, trouble=site.words(error))
    response, pairs = state.response, replace(view, wait=False).pairs(site.usual_pair)
    place = [(SIDE, side.prefix.rstrip("."))]

    def make_rows() -> list[Row]:
        return [row_of(site, view.q, result, pairs, DEEP, side=place) for result in response.results]

    rows = await site.service.pool.run(make_rows)
    return replace(side, rows=rows, warnings=response.warnings, took=duration(response.took_ms))


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


def _compare_page(site: Site, request: Request, view: views.SideBySide, sides: Sequence[Side], status: int) -> Response:
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
