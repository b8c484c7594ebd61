"""Sign-in by link, overview, settings and import."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, File, Form, Query, Request, UploadFile
from starlette.responses import RedirectResponse, Response

from rankwell.apps.screening.screening_pages import standing_of
from rankwell.apps.screening.site import ClosedError, Site, site_of
from rankwell.apps.web.sessions import Session
from rankwell.core import ParameterError, RankwellError
from rankwell.reviews.ris import Reference
from rankwell.reviews.screening.files import read_records
from rankwell.reviews.screening.store import LONGEST_CRITERIA, LONGEST_TITLE, ProjectSettings, Reviewer

router = APIRouter(default_response_class=Response)


@router.get("/open")
def come_in(
    request: Request,
    reviewer: Annotated[int, Query(ge=1, le=1000)] = 1,
    key: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """A reviewer's link: set the cookie, and redirect away from the URL with the secret."""
    site = site_of(request)
    if not site.admits(reviewer, key):
        raise ClosedError
    response = RedirectResponse(site.pages.url("/"), 303)
    site.pages.sessions.write(response, Session.begin(str(reviewer)))
    return response


@router.get("/")
def overview(request: Request) -> Response:
    """The reviewer's progress."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    if not site.project.records.count():
        return site.go("/import")
    return site.show(request, "overview.html", reviewer, standing=standing_of(site, reviewer.id))


@router.get("/settings")
def settings(request: Request, saved: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The settings page: title, criteria, reasons."""
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
    """Save the settings; a new title retrains the ranking."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    listed = tuple(dict.fromkeys(" ".join(line.split()) for line in reasons.splitlines() if line.strip()))
    try:
        site.project.change(ProjectSettings(" ".join(title.split()), criteria.replace("\r\n", "\n").strip(), listed))
    except ParameterError as error:
        given = {"title": title, "criteria": criteria, "reasons": listed}
        return site.show(request, "settings.html", reviewer, 422, given=given, problem=str(error), saved=False)
    site.ranking.changed()
    return site.go("/settings?saved=1")


UPLOAD = "/import"
LONGEST_NAME = 120


@router.get(UPLOAD)
def sources(request: Request) -> Response:
    """The imported files, and the form to import more."""
    site = site_of(request)
    return _page(request, site, site.reviewer(request))


@router.post(UPLOAD)
def bring_in(request: Request, files: Annotated[list[UploadFile], File()]) -> Response:
    """Import records from all files, or from none where one cannot be read."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    try:
        found = [(name, _read(name, file)) for file in files if (name := shown_name(file.filename))]
    except RankwellError as error:
        return _page(request, site, reviewer, problem=str(error))
    if not found:
        return _page(request, site, reviewer, problem="Choose a file first.")
    for name, references in found:
        site.project.import_references(name, references)
    site.ranking.changed()
    return site.go(UPLOAD)


def shown_name(given: str | None) -> str:
    """A file's name without folders and unprintable characters; empty where no file was chosen."""
    name = PureWindowsPath(PurePosixPath(given or "").name).name
    return "".join(character for character in name if character.isprintable())[-LONGEST_NAME:]


def _read(name: str, file: UploadFile) -> list[Reference]:
    """The references of an uploaded file; of its name only the ending is used, to detect the format."""
    ending = re.search(r"(?:\.[A-Za-z0-9]{1,8}){0,2}$", name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{ending[0] if ending else ''}"
        path.write_bytes(file.file.read())
        try:
            return read_records(path)
        except RankwellError as error:
            raise RankwellError(str(error).replace(str(path), name)) from error


def _page(request: Request, site: Site, reviewer: Reviewer, problem: str = "") -> Response:
    project = site.project
    return site.show(
        request,
        "import.html",
        reviewer,
        422 if problem else 200,
        sources=project.records.sources(),
        duplicates=project.duplicates.by_source(),
        problem=problem,
    )
