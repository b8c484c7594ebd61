"""Sign-in by link, overview, settings and import."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Query, UploadFile
from starlette.responses import Response

from rankwell.apps.screening.screening_pages import standing_of
from rankwell.apps.screening.site import ClosedError, Visit, check_reviewer
from rankwell.core import ParameterError, RankwellError
from rankwell.reviews.ris import Reference
from rankwell.reviews.screening.files import read_records
from rankwell.reviews.screening.store import LONGEST_CRITERIA, LONGEST_TITLE, ProjectSettings

door = APIRouter(default_response_class=Response)
router = APIRouter(default_response_class=Response, dependencies=[Depends(check_reviewer)])


@door.get("/open")
def come_in(
    visit: Visit, reviewer: Annotated[int, Query(ge=1, le=1000)] = 1, key: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """A reviewer's link: set the cookie, and redirect away from the URL with the secret."""
    visit.count_try()
    if not visit.site.admits(reviewer, key):
        raise ClosedError
    visit.begin(str(reviewer))
    return visit.go("/")


@router.get("/")
def overview(visit: Visit) -> Response:
    """The reviewer's progress."""
    if not visit.project.records.count():
        return visit.go("/import")
    return visit.show("overview.html", standing=standing_of(visit))


@router.get("/settings")
def settings(visit: Visit, saved: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The settings page: title, criteria, reasons."""
    return visit.show("settings.html", given=visit.project.settings, problem="", saved=bool(saved))


@router.post("/settings")
def change_settings(
    visit: Visit,
    title: Annotated[str, Form(max_length=4 * LONGEST_TITLE)] = "",
    criteria: Annotated[str, Form(max_length=2 * LONGEST_CRITERIA)] = "",
    reasons: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Save the settings; a new title retrains the ranking."""
    listed = tuple(dict.fromkeys(" ".join(line.split()) for line in reasons.splitlines() if line.strip()))
    try:
        visit.project.change(ProjectSettings(" ".join(title.split()), criteria.replace("\r\n", "\n").strip(), listed))
    except ParameterError as error:
        given = {"title": title, "criteria": criteria, "reasons": listed}
        return visit.show("settings.html", 422, given=given, problem=str(error), saved=False)
    visit.site.ranking.changed()
    return visit.go("/settings?saved=1")


UPLOAD = "/import"
LONGEST_NAME = 120


@router.get(UPLOAD)
def sources(visit: Visit) -> Response:
    """The imported files, and the form to import more."""
    return _page(visit)


@router.post(UPLOAD)
def bring_in(visit: Visit, files: Annotated[list[UploadFile], File()]) -> Response:
    """Import records from all files, or from none where one cannot be read."""
    try:
        read = [(name, _read(name, file)) for file in files if (name := shown_name(file.filename))]
    except RankwellError as error:
        return _page(visit, problem=str(error))
    if not read:
        return _page(visit, problem="Choose a file first.")
    for name, references in read:
        visit.project.import_references(name, references)
    visit.site.ranking.changed()
    return visit.go(UPLOAD)


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


def _page(visit: Visit, problem: str = "") -> Response:
    lists = {"sources": visit.project.records.sources(), "duplicates": visit.project.duplicates.by_source()}
    return visit.show("import.html", 422 if problem else 200, **lists, problem=problem)
