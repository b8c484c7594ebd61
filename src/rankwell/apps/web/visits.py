"""A request to a page: who is there, what is shown, and signing in and out. The applications with sessions share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, TypeVar

from fastapi import HTTPException, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.web.pages import Pages
from rankwell.apps.web.sessions import RateLimit, Session

TRIES_PER_MINUTE = 120  # from one place, which may be a classroom; wrong codes of a study have a stricter limit
T = TypeVar("T")
HEADER = "x-rankwell-fragment"
LATER = {"retry-after": "600"}


def wants_fragment(request: Request) -> bool:
    """Whether our script requests only the main part of a page."""
    return HEADER in request.headers


def layout_for(request: Request) -> str:
    """The template that a page extends (`{% extends layout %}`)."""
    return "fragment.html" if wants_fragment(request) else "layout.html"


class Site:
    """An application's pages, and the limit of attempts to sign in."""

    def __init__(self, pages: Pages) -> None:
        self.pages, self.tries = pages, RateLimit(TRIES_PER_MINUTE, 60)


class Visit:
    """One request to a site. Roles are checked at every request, so that a change takes effect at once."""

    problem: str | None = None

    def __init__(self, request: Request) -> None:
        self.request = request
        self.pages: Pages = request.app.state.site.pages

    @property
    def session(self) -> Session:
        """The session of this browser."""
        return self.pages.session(self.request)

    @property
    def wants_fragment(self) -> bool:
        """Whether our script requests only the main part of a page."""
        return wants_fragment(self.request)

    def refuse(self, problem: str) -> Self:
        """This visit, whose next page says what was wrong with the form."""
        self.problem = problem
        return self

    def show(self, template: str, status: int | None = None, **values: Any) -> Response:
        """Render a page, or only its main part for our script."""
        status = status or (422 if self.problem else 200)
        layout = layout_for(self.request)
        return self.pages.show(self.request, template, status, layout=layout, problem=self.problem, **values)

    def go(self, path: str) -> Response:
        """Redirect to another page after a form."""
        return self.pages.keep(self.request, RedirectResponse(self.pages.url(path), 303))

    def begin(self, person: str | None = None, generation: int = 0) -> None:
        """Start a new session, of somebody who has signed in or of nobody."""
        self.request.state.session = Session.begin(person, generation)

    def end(self) -> None:
        """End the session of whoever is signed in, and start one of nobody."""
        if self.session.person is not None:
            self.pages.sessions.ended.add(self.session)
        self.begin()

    def count_try(self) -> str:
        """Count an attempt to sign in; status 429 where there were too many. Returns the place it comes from."""
        place = self.request.client.host if self.request.client else "unknown"
        if not self.request.app.state.site.tries.allows(place):
            raise HTTPException(429, headers=LATER)
        return place


class ListPart(NamedTuple):
    """The shown part of a list; numbers count from 1."""

    page: int
    pages: int
    first: int
    last: int
    total: int


def part_of(items: Sequence[T], page: int, size: int) -> tuple[Sequence[T], ListPart]:
    """The items of a page (the last page at most), and its place in the list."""
    pages = max(1, -(-len(items) // size))
    page = min(max(1, page), pages)
    first = (page - 1) * size
    shown = items[first : first + size]
    return shown, ListPart(page, pages, first + 1 if shown else 0, first + len(shown), len(items))
