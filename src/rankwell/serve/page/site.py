"""What every page works with: the service, the templates, what the index offers, and what is usual here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from rankwell.clickhouse import all_vectors_of, is_facet
from rankwell.core import RankwellError
from rankwell.index import Index
from rankwell.rerank import usual_depth
from rankwell.serve.api.errors import problem_for
from rankwell.serve.page.filters import Filters
from rankwell.serve.page.ranking import NO_MODEL, Pairs, Ranking
from rankwell.serve.page.views import address, is_shortest, request_values
from rankwell.serve.requests import SearchRequest, parse_values
from rankwell.serve.service import Service
from rankwell.web import Pages
from rankwell.web.fragments import layout_for, wants_fragment

SECOND = 1000  # milliseconds
UNAVAILABLE = 503
STARTING = "The server has just been started and is getting ready. Try again in a moment."
TOO_MUCH = "The server has too much to do at the moment. Try again in a little while."
DEPTH = 50  # that a model reads while somebody looks at the first stage's results


@dataclass(frozen=True)
class Offers:
    """What a search can be asked for here: by the index's fields and vectors, and by the operator's models."""

    fields: tuple[str, ...]
    facets: tuple[str, ...]
    vectors: bool
    models: tuple[str, ...]
    deepest: int
    longest: int  # characters of a query

    @property
    def model_choices(self) -> list[tuple[str, str]]:
        """For a menu."""
        return [(NO_MODEL, "none"), *((model, model) for model in self.models)]


@dataclass(frozen=True)
class Site:
    """The pages of one server."""

    pages: Pages
    service: Service

    @cached_property
    def usual(self) -> Ranking:
        """How the page ranks where nobody says otherwise."""
        settings = self.service.settings
        depth = min(DEPTH, settings.max_depth, usual_depth(settings.rerank) if settings.rerank else DEPTH)
        return Ranking(rerank=settings.default_reranker or NO_MODEL, depth=depth)

    @property
    def usual_pair(self) -> tuple[Ranking, Ranking]:
        """What stands side by side: BM25, and the most that this server can do beyond it."""
        plain, offers = replace(self.usual, rerank=NO_MODEL), self.offers
        if offers.models:
            return plain, replace(plain, rerank=self.usual.model or offers.models[0])
        return plain, replace(plain, by="both") if offers.vectors else replace(plain, rm3=True)

    @property
    def index(self) -> Index:
        """The last commit."""
        return self.service.searcher.indexes.current

    @property
    def offers(self) -> Offers:
        """What this server has now; looked at once for each commit."""
        index = self.index
        known = self._offers.get(index.commit)
        if known is None:
            self._offers.clear()
            known = self._offers[index.commit] = self._look(index)
        return known

    @cached_property
    def _offers(self) -> dict[int, Offers]:
        return {}

    def _look(self, index: Index) -> Offers:
        settings = self.service.settings
        facets = tuple(name for name, column in index.columns.items() if is_facet(column, len(index)))
        vectors = bool(all_vectors_of(index))
        return Offers(index.fields, facets, vectors, tuple(settings.rerankers), settings.max_depth, settings.max_query)

    def request(self, q: str, filters: Filters, ranking: Ranking, **more: Any) -> SearchRequest:
        """The request of the REST API for the same search, with its checks and limits."""
        settings = self.service.settings
        model = settings.rerankers.get(ranking.rerank)
        if model is not None and ranking.depth == self.usual.depth:  # which nobody chose for this model
            ranking = replace(ranking, depth=min(ranking.depth, usual_depth(model)))
        return parse_values(request_values(q, filters, ranking, **more), settings)

    def grades(self, q: str) -> Mapping[str, int]:
        """What was said about a query's documents."""
        judgments = self.service.judgments
        return judgments.grades(q) if judgments is not None and q.strip() else {}

    def words(self, error: RankwellError) -> str:
        """What was refused, as a sentence without paths of this machine."""
        if self.status(error) == UNAVAILABLE:
            return TOO_MUCH if self.service.ready else STARTING
        return problem_for(self.service, error).error.rstrip(".") + "."

    def status(self, error: RankwellError) -> int:
        """The status of a page that says so."""
        return problem_for(self.service, error).status

    def link(self, path: str, pairs: Pairs) -> str:
        """The address of a page of ours."""
        return self.pages.url(address(path, pairs))

    def shorter(self, request: Request, path: str, pairs: Pairs) -> Response | None:
        """To the same page at an address in which nothing usual stands, where this one says more."""
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
        """A page, or only its main part where our script asks for that; `across` goes along to the other pages."""
        shared = {
            "layout": layout_for(request),
            "here": here,
            "across": address("", across or []),
            "can_judge": self.service.judgments is not None,
            "documents": counted(len(self.index), "document"),
        }
        # A script reads the words on the page, and a browser would write the status to its console.
        shown = 200 if wants_fragment(request) else status
        return self.pages.show(request, template, shown, **shared, **values)


def counted(number: int, noun: str, several: str = "") -> str:
    """1 document, 1,234 documents."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def duration(milliseconds: float) -> str:
    """23 ms, 1.4 s."""
    return f"{milliseconds:.0f} ms" if milliseconds < SECOND else f"{milliseconds / SECOND:.1f} s"


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.search_page
    return found
