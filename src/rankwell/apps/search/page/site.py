"""What every page needs: the service, the templates, the index's options, the default ranking, and both stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.search.access import ADMIN
from rankwell.apps.search.api.problems import UNAVAILABLE, problem_for
from rankwell.apps.search.page import views
from rankwell.apps.search.requests import SearchRequest, parse_values
from rankwell.apps.search.rerank_queue import RerankQueueFullError, RerankTimeoutError
from rankwell.apps.search.searcher import SearchState
from rankwell.apps.search.service import GoneError, Service
from rankwell.apps.web import Pages
from rankwell.apps.web.visits import layout_for, wants_fragment
from rankwell.core import RankwellError
from rankwell.index import MetadataColumn, SearchIndex, TextColumn
from rankwell.index.protocol import NUMBER
from rankwell.models.families import usual_depth
from rankwell.vectors import all_vectors_of

if TYPE_CHECKING:
    from rankwell.apps.search.page.people import People

STATIC = Path(__file__).parent / "static"
TEMPLATES = Path(__file__).parent / "templates"
SEARCH, COMPARE = "/", "/compare"
ID, SIDE, ALL = "id", "side", "all"
DATES = "dates"
SECOND = 1000  # milliseconds
STARTING = "The server has just been started and is getting ready. Try again in a moment."
TOO_MUCH = "The server has too much to do at the moment. Try again in a little while."
TOO_MANY = "Many people ask the model at the moment: these are the results without it. Try again in a little while."
TOO_LATE = "The model was not done in time: these are the results without it. Let it read fewer documents."
DEPTH = 50  # documents that a model re-ranks while the user sees the first stage's results


@dataclass(frozen=True)
class Offers:
    """The search options available here: the index's fields and vectors, and the operator's models."""

    fields: tuple[str, ...]
    facets: tuple[str, ...]
    sorts: tuple[tuple[str, str], ...]  # columns to sort by, with their kind: number or dates
    vectors: bool
    models: tuple[str, ...]
    deepest: int
    longest: int  # most characters of a query

    @property
    def model_choices(self) -> list[tuple[str, str]]:
        """The models as options of a menu."""
        return [(views.NO_MODEL, "none"), *((model, model) for model in self.models)]


class Site:
    """The search pages of one server."""

    def __init__(self, pages: Pages, service: Service, people: People) -> None:
        self.pages, self.service, self.people = pages, service, people
        self._offers: dict[int, Offers] = {}  # by the index's commit

    @cached_property
    def usual(self) -> views.RankingSettings:
        """The default ranking of the page."""
        settings = self.service.settings
        depth = min(DEPTH, settings.max_depth, usual_depth(settings.rerank) if settings.rerank else DEPTH)
        return views.RankingSettings(rerank=settings.default_reranker or views.NO_MODEL, depth=depth)

    @property
    def usual_pair(self) -> tuple[views.RankingSettings, views.RankingSettings]:
        """The default comparison: BM25, and the strongest ranking that this server offers."""
        plain, offers = replace(self.usual, rerank=views.NO_MODEL), self.offers
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
        index, settings = self.index, self.service.settings
        known = self._offers.get(index.commit)
        if known is None:
            facets = tuple(name for name, column in index.columns.items() if column.is_facet(len(index)))
            vectors, models = bool(all_vectors_of(index)), tuple(settings.rerankers)
            kinds = ((name, _kind(column)) for name, column in index.columns.items())
            sorts = tuple((name, kind) for name, kind in kinds if kind in (NUMBER, DATES))
            known = Offers(index.fields, facets, sorts, vectors, models, settings.max_depth, settings.max_query)
            self._offers = {index.commit: known}
        return known

    async def search(
        self, q: str, filters: views.Filters, ranking: views.RankingSettings, request: Request | None, **more: Any
    ) -> SearchState:
        """Search as the REST API would, with its checks and limits; with the second stage where `request` is given.

        Where the model is too busy or too slow the results are the first stage's, with a note.
        """
        settings = self.service.settings
        model = settings.rerankers.get(ranking.rerank)
        if model is not None and ranking.depth == self.usual.depth:  # a default that was not chosen for this model
            ranking = replace(ranking, depth=min(ranking.depth, usual_depth(model)))
        asked: SearchRequest = parse_values(views.request_values(q, filters, ranking, **more), settings)
        state, _ = await self.service.first(asked, lambda _: None)
        if request is None or asked.rerank is None or not state.response.results:
            return state
        try:
            return await self.service.second(state, request.receive, lambda state: state)
        except GoneError:
            return state  # no client is left to read this
        except RerankQueueFullError:
            note = TOO_MANY
        except (RerankTimeoutError, TimeoutError):
            note = TOO_LATE
        state.response = replace(state.response, partial=True, warnings=[*state.response.warnings, note])
        return state

    def judge(self, request: Request) -> str | None:
        """The name under which the visitor's thumbs are kept; None where they may give none."""
        return None if self.service.judgments is None else self.people.judge(request)

    def grades(self, q: str, judge: str | None) -> Mapping[str, int]:
        """The grades that somebody gave to a query's documents."""
        judgments = self.service.judgments
        return {} if judgments is None or judge is None or not q.strip() else judgments.grades(q, who=judge)

    def words(self, error: RankwellError) -> str:
        """The error as a sentence, without paths of this machine."""
        if self.status(error) == UNAVAILABLE:
            return TOO_MUCH if self.service.ready else STARTING
        return problem_for(self.service, error).error.rstrip(".") + "."

    def status(self, error: RankwellError) -> int:
        """The HTTP status for an error."""
        return problem_for(self.service, error).status

    def link(self, path: str, pairs: views.Pairs) -> str:
        """The address of one of our pages."""
        return self.pages.url(views.address(path, pairs))

    def shorter(self, request: Request, path: str, pairs: views.Pairs) -> Response | None:
        """Redirect to the address without default settings, where this one contains some; else None."""
        if views.is_shortest(request.url.query, pairs):
            return None
        return RedirectResponse(self.link(path, pairs), 303)

    def show(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        across: Sequence[views.Pair] = (),
        status: int = 200,
    ) -> Response:
        """Render a page, or only its main part where our script asks for that; `across` is kept in links."""
        key, judgments = self.people.key(request), self.service.judgments is not None
        shared = {
            "layout": layout_for(request),
            "here": request.scope["path"],
            "across": views.address("", across),
            "can_judge": self.judge(request) is not None,
            "sees_judgments": judgments and key is not None and key.may(ADMIN),
            "person": None if key is None else key.name,
            "signed_in": self.people.session_key(request) is not None,
            "can_sign_in": judgments and key is None,
            "documents": counted(len(self.index), "document"),
        }
        # The script shows the page's message; an error status would only fill the browser's console.
        shown = 200 if wants_fragment(request) else status
        return self.pages.show(request, template, shown, **shared, **values)


def _kind(column: MetadataColumn) -> str:
    return DATES if isinstance(column, TextColumn) and column.is_dates else column.kind


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    site: Site = request.app.state.search_page
    return site


def counted(number: int, noun: str, several: str = "") -> str:
    """A number with its noun: 1 document, 1,234 documents."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def duration(milliseconds: float) -> str:
    """Milliseconds as text: 23 ms, 1.4 s."""
    return f"{milliseconds:.0f} ms" if milliseconds < SECOND else f"{milliseconds / SECOND:.1f} s"


@dataclass(frozen=True)
class Origin:
    """The search that led to a document, and the link back to it."""

    id: str
    q: str
    filters: views.Filters
    ranking: views.RankingSettings
    back: str


def origin_of(site: Site, query: str) -> Origin:
    """Read the search that led to a document from the page's address."""
    given = views.given_of(query)
    rest: views.Pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] not in (ID, SIDE, ALL)]
    docno, side = views.last(given, ID), views.last(given, SIDE)
    if side in ("a", "b"):
        both = views.read_side_by_side(given, site.usual_pair)
        ranking = both.left if side == "a" else both.right
        return Origin(docno, both.q, both.filters, ranking, site.link(COMPARE, rest))
    view = views.read_view(given, site.usual)
    return Origin(docno, view.q, view.filters, view.ranking, site.link(SEARCH, rest))
