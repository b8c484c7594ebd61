"""The way in, the overview, and the settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from rankwell.core import ParameterError
from rankwell.reviews.screening.app.site import ClosedError, site_of
from rankwell.reviews.screening.app.standing import standing_of
from rankwell.reviews.screening.store import LONGEST_CRITERIA, LONGEST_TITLE, Settings
from rankwell.web.sessions import Session

router = APIRouter(default_response_class=Response)


@router.get("/open")
def come_in(
    request: Request,
    reviewer: Annotated[int, Query(ge=1, le=1000)] = 1,
    key: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """A reviewer's link: the browser gets its cookie, and the address with the secret is left at once."""
    site = site_of(request)
    if not site.admits(reviewer, key):
        raise ClosedError
    response = RedirectResponse(site.pages.url("/"), 303)
    site.pages.sessions.write(response, Session.begin(str(reviewer)))
    return response


@router.get("/")
def overview(request: Request) -> Response:
    """How far this reviewer is."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    if not site.project.records.count():
        return site.go("/import")
    return site.show(request, "overview.html", reviewer, standing=standing_of(site, reviewer.id))


@router.get("/settings")
def settings(request: Request, saved: Annotated[str, Query(max_length=10)] = "") -> Response:
    """Title, criteria, reasons."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    return site.show(request, "settings.html", reviewer, given=site.project.settings, problem="", saved=bool(saved))


@router.post("/settings")
def change_settings(
    request: Request,
    title: Annotated[str, Form(max_length=4 * LONGEST_TITLE)] = "",
    criteria: Annotated[str, Form(max_length=2 * LONGEST_CRITERIA)] = "",
    reasons: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Save them; a new title makes the ranking learn anew."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    listed = tuple(dict.fromkeys(" ".join(line.split()) for line in reasons.splitlines() if line.strip()))
    try:
        site.project.change(Settings(" ".join(title.split()), criteria.replace("\r\n", "\n").strip(), listed))
    except ParameterError as error:
        given = {"title": title, "criteria": criteria, "reasons": listed}
        return site.show(request, "settings.html", reviewer, 422, given=given, problem=str(error), saved=False)
    site.ranking.changed()
    return site.go("/settings?saved=1")
