"""Where somebody came from: pages about one document keep the address of the search that led to them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from rankwell.serve.page.filters import Filters
from rankwell.serve.page.ranking import Given, Pairs, Ranking
from rankwell.serve.page.site import Site
from rankwell.serve.page.views import LEFT, RIGHT, given_of, read_side_by_side, read_view

ID, SIDE, ALL = "id", "side", "all"
SEARCH, COMPARE = "/", "/compare"
SIDES = {"a": LEFT, "b": RIGHT}


@dataclass(frozen=True)
class Origin:
    """The search that a document was found by, and the way back to it."""

    id: str
    q: str
    filters: Filters
    ranking: Ranking
    back: str


def origin_of(site: Site, query: str) -> Origin:
    """What the address of a page about a document says."""
    given = given_of(query)
    rest: Pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] not in (ID, SIDE, ALL)]
    docno, side = _last(given, ID), _last(given, SIDE)
    if side in SIDES:
        both = read_side_by_side(given, site.usual_pair)
        ranking = both.left if side == "a" else both.right
        return Origin(docno, both.q, both.filters, ranking, site.link(COMPARE, rest))
    view = read_view(given, site.usual)
    return Origin(docno, view.q, view.filters, view.ranking, site.link(SEARCH, rest))


def _last(given: Given, name: str) -> str:
    return given.get(name, [""])[-1]
