"""What every page of the application works with: the project, its ranking, the templates, and who is asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from rankwell.reviews.screening.ranking import Ranking
from rankwell.reviews.screening.store import Project, Reviewer
from rankwell.web import Pages, Signer
from rankwell.web.fragments import layout_for
from rankwell.web.signing import same


class ClosedError(Exception):
    """Somebody who did not come by one of the project's links."""


@dataclass(frozen=True)
class Site:
    """One project and its pages."""

    project: Project
    ranking: Ranking
    pages: Pages
    signer: Signer

    def link(self, reviewer: Reviewer) -> str:
        """The path that lets a reviewer in: made of the installation's key, so that it lasts and is kept nowhere."""
        return "/open?" + urlencode({"reviewer": reviewer.id, "key": self._key(reviewer.id)})

    def admits(self, number: int, key: str) -> bool:
        """Whether a link is one of ours."""
        known = any(reviewer.id == number for reviewer in self.project.reviewers())
        return same(self._key(number), key) and known

    def reviewer(self, request: Request) -> Reviewer:
        """Who is asking."""
        person = self.pages.session(request).person
        found = next((reviewer for reviewer in self.project.reviewers() if str(reviewer.id) == person), None)
        if found is None:
            raise ClosedError
        return found

    def show(self, request: Request, template: str, reviewer: Reviewer, status: int = 200, **values: Any) -> Response:
        """A page, or only its main part where our script asks for that."""
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
        """To another page, after a form."""
        return RedirectResponse(self.pages.url(path), 303)

    def _key(self, number: int) -> str:
        return self.signer.mark(str(number).encode())


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.site
    return found
