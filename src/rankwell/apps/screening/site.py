"""The context of all pages: the project, its ranking and the reviewer, who signs in by a link."""

from __future__ import annotations

from functools import cached_property
from itertools import count
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request
from starlette.responses import Response

from rankwell.apps.web import Pages, Signer, visits
from rankwell.apps.web.sessions import same
from rankwell.reviews.screening.ranking import LiveRanking
from rankwell.reviews.screening.store import Project, Reviewer


class ClosedError(Exception):
    """A visitor without one of the project's links."""


class ProjectSite(visits.Site):
    """A project with its pages and its ranking."""

    def __init__(self, pages: Pages, project: Project, ranking: LiveRanking, signer: Signer) -> None:
        super().__init__(pages)
        self.project, self.ranking, self._signer = project, ranking, signer
        self.uploads: dict[int, tuple[str, int]] = {}  # files that are being read: names, and records so far
        self._numbers = count()

    def begin_upload(self, name: str) -> int:
        """The number of an upload that begins, under which `uploads` has it."""
        number = next(self._numbers)
        self.uploads[number] = (name, 0)
        return number

    def link(self, reviewer: Reviewer) -> str:
        """A reviewer's sign-in path, derived from the installation's key, so that it need not be stored."""
        return "/open?" + urlencode({"reviewer": reviewer.id, "key": self._key(reviewer.id)})

    def admits(self, number: int, key: str) -> bool:
        """Whether a link has a valid key and a known reviewer."""
        known = any(reviewer.id == number for reviewer in self.project.reviewers())
        return same(self._key(number), key) and known

    def _key(self, number: int) -> str:
        return self._signer.mark(str(number).encode())


class ProjectVisit(visits.Visit):
    """A request to a project's pages, and the reviewer who is signed in."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.site: ProjectSite = request.app.state.site
        self.project: Project = self.site.project

    @cached_property
    def reviewer(self) -> Reviewer:
        """The signed-in reviewer; an error without one."""
        person = self.session.person
        for reviewer in self.project.reviewers():
            if str(reviewer.id) == person:
                return reviewer
        raise ClosedError

    def show(self, template: str, status: int | None = None, **values: Any) -> Response:
        """Render a page, or only its main part for our script."""
        settings = self.project.settings
        shared = {"reviewer": self.reviewer, "reviewers": self.project.reviewers(), "settings": settings}
        reading = self.site.ranking.reading
        return super().show(template, status, **shared, reading=reading, site=settings.title, **values)


async def _visit(request: Request) -> ProjectVisit:
    return ProjectVisit(request)


Visit = Annotated[ProjectVisit, Depends(_visit)]


def check_reviewer(visit: Visit) -> None:
    """Refuse a visitor who has not signed in."""
    _ = visit.reviewer
