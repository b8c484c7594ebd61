"""What every page needs: the service, the templates, the index's options, and the default ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.search.api.problems import problem_for
from rankwell.apps.search.page.filters import Filters
from rankwell.apps.search.page.ranking import NO_MODEL, Given, Pairs, RankingSettings
from rankwell.apps.search.page.views import (
    LEFT,
    RIGHT,
    address,
    given_of,
    is_shortest,
    read_side_by_side,
    read_view,
    request_values,
)
from rankwell.apps.search.requests import SearchRequest, parse_values
from rankwell.apps.search.service import Service
from rankwell.apps.web import Pages
from rankwell.apps.web.visits import layout_for, wants_fragment
from rankwell.core import RankwellError
from rankwell.index import SearchIndex
from rankwell.models.families import usual_depth
from rankwell.vectors import all_vectors_of

SECOND = 1000  # milliseconds
UNAVAILABLE = 503
STARTING = "The server has just been started and is getting ready. Try again in a moment."
TOO_MUCH = "The server has too much to do at the moment. Try again in a little while."
DEPTH = 50  # documents that a model re-ranks while the user sees the first stage's results


@dataclass(frozen=True)
class Offers:
    """The search options available here: the index's fields and vectors, and the operator's models."""

    fields: tuple[str, ...]
    facets: tuple[str, ...]
    vectors: bool
    models: tuple[str, ...]
    deepest: int
    longest: int  # most characters of a query

    @property
    def model_choices(self) -> list[tuple[str, str]]:
        """The models as options of a menu."""
        return [(NO_MODEL, "none"), *((model, model) for model in self.models)]


@dataclass(frozen=True)
class Site:
    """The search pages of one server."""

    pages: Pages
    service: Service

    @cached_property
    def usual(self) -> RankingSettings:
        """The default ranking of the page."""
        settings = self.service.settings
        depth = min(DEPTH, settings.max_depth, usual_depth(settings.rerank) if settings.rerank else DEPTH)
        return RankingSettings(rerank=settings.default_reranker or NO_MODEL, depth=depth)

    @property
    def usual_pair(self) -> tuple[RankingSettings, RankingSettings]:
        """The default comparison: BM25, and the strongest ranking that this server offers."""
        plain, offers = replace(self.usual, rerank=NO_MODEL), self.offers
        if offers.models:
            return plain, replace(plain, rerank=self.usual.model or offers.models[0])
        return plain, replace(plain, by="both") if offers.vectors else replace(plain, rm3=True)

    @property
    def index(self) -> SearchIndex:
        """The index at its last commit."""
        return self.service.searcher.indexes.current

    @property
    def offers(self) -> Offers:
        """The options available now; computed once for each commit."""
        index = self.index
        known = self._offers.get(index.commit)
        if known is None:
            self._offers.clear()
            known = self._offers[index.commit] = self._look(index)
        return known

    @cached_property
    def _offers(self) -> dict[int, Offers]:
        return {}

    def _look(self, index: SearchIndex) -> Offers:
        settings = self.service.settings
        facets = tuple(name for name, column in index.columns.items() if column.is_facet(len(index)))
        vectors = bool(all_vectors_of(index))
        return Offers(index.fields, facets, vectors, tuple(settings.rerankers), settings.max_depth, settings.max_query)

    def request(self, q: str, filters: Filters, ranking: RankingSettings, **more: Any) -> SearchRequest:
        """The REST API's request for the same search, with its checks and limits."""
        settings = self.service.settings
        model = settings.rerankers.get(ranking.rerank)
        if model is not None and ranking.depth == self.usual.depth:  # a default that was not chosen for this model
            ranking = replace(ranking, depth=min(ranking.depth, usual_depth(model)))
        return parse_values(request_values(q, filters, ranking, **more), settings)

    def grades(self, q: str) -> Mapping[str, int]:
        """The grades of a query's documents."""
        judgments = self.service.judgments
        return judgments.grades(q) if judgments is not None and q.strip() else {}

    def words(self, error: RankwellError) -> str:
        """The error as a sentence, without paths of this machine."""
        if self.status(error) == UNAVAILABLE:
            return TOO_MUCH if self.service.ready else STARTING
        return problem_for(self.service, error).error.rstrip(".") + "."

    def status(self, error: RankwellError) -> int:
        """The HTTP status for an error."""
        return problem_for(self.service, error).status

    def link(self, path: str, pairs: Pairs) -> str:
        """The address of one of our pages."""
        return self.pages.url(address(path, pairs))

    def shorter(self, request: Request, path: str, pairs: Pairs) -> Response | None:
        """Redirect to the address without default settings, where this one contains some; else None."""
        if is_shortest(request.url.query, pairs):
            return None
        return RedirectResponse(self.link(path, pairs), 303)

    def show(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        *,
        here: str = "",
        across: Pairs | None = None,
        status: int = 200,
    ) -> Response:
        """Render a page, or only its main part where our script asks for that; `across` is kept in links."""
        shared = {
            "layout": layout_for(request),
            "here": here,
            "across": address("", across or []),
            "can_judge": self.service.judgments is not None,
            "documents": counted(len(self.index), "document"),
        }
        # The script shows the page's message; an error status would only fill the browser's console.
        shown = 200 if wants_fragment(request) else status
        return self.pages.show(request, template, shown, **shared, **values)


def counted(number: int, noun: str, several: str = "") -> str:
    """A number with its noun: 1 document, 1,234 documents."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def duration(milliseconds: float) -> str:
    """Milliseconds as text: 23 ms, 1.4 s."""
    return f"{milliseconds:.0f} ms" if milliseconds < SECOND else f"{milliseconds / SECOND:.1f} s"


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.search_page
    return found


ID, SIDE, ALL = "id", "side", "all"
SEARCH, COMPARE = "/", "/compare"
SIDES = {"a": LEFT, "b": RIGHT}


@dataclass(frozen=True)
class Origin:
    """The search that led to a document, and the link back to it."""

    id: str
    q: str
    filters: Filters
    ranking: RankingSettings
    back: str


def origin_of(site: Site, query: str) -> Origin:
    """Read the search that led to a document from the page's address."""
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
