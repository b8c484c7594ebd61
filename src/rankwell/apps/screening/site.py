"""The context of all pages: the project, its ranking, the templates and the reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.web import Pages, Signer
from rankwell.apps.web.responses import layout_for
from rankwell.apps.web.sessions import same
from rankwell.reviews.screening.ranking import LiveRanking
from rankwell.reviews.screening.store import Project, Reviewer


class ClosedError(Exception):
    """A visitor without one of the project's links."""


@dataclass(frozen=True)
class Site:
    """A project with its pages and its ranking."""

    project: Project
    ranking: LiveRanking
    pages: Pages
    signer: Signer

    def link(self, reviewer: Reviewer) -> str:
        """A reviewer's sign-in path, derived from the installation's key, so that it need not be stored."""
        return "/open?" + urlencode({"reviewer": reviewer.id, "key": self._key(reviewer.id)})

    def admits(self, number: int, key: str) -> bool:
        """Whether a link has a valid key and a known reviewer."""
        known = any(reviewer.id == number for reviewer in self.project.reviewers())
        return same(self._key(number), key) and known

    def reviewer(self, request: Request) -> Reviewer:
        """The signed-in reviewer; an error without one."""
        person = self.pages.session(request).person
        found = next((reviewer for reviewer in self.project.reviewers() if str(reviewer.id) == person), None)
        if found is None:
            raise ClosedError
        return found

    def show(self, request: Request, template: str, reviewer: Reviewer, status: int = 200, **values: Any) -> Response:
        """Render a page, or only its main part for our script."""
        reviewers = self.project.reviewers()
        shared = {
            "layout": layout_for(request),
            "reviewer": reviewer,
            "reviewers": reviewers,
            "reading": self.ranking.reading,
        }
        settings = self.project.settings
        return self.pages.show(request, template, status, **shared, settings=settings, site=settings.title, **values)

    def go(self, path: str) -> Response:
        """Redirect to another page after a form."""
        return RedirectResponse(self.pages.url(path), 303)

    def _key(self, number: int) -> str:
        return self.signer.mark(str(number).encode())


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.site
    return found
