"""Bringing records in: files of databases and reference managers, as many as there are."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from starlette.responses import Response

from rankwell.core import RankwellError
from rankwell.reviews.reference import Reference
from rankwell.reviews.screening.app.site import Site, site_of
from rankwell.reviews.screening.importing import read_records
from rankwell.reviews.screening.store import Reviewer

UPLOAD = "/import"
LONGEST_NAME = 120
router = APIRouter(default_response_class=Response)


@router.get(UPLOAD)
def sources(request: Request) -> Response:
    """What was imported, and the form for more."""
    site = site_of(request)
    return _page(request, site, site.reviewer(request))


@router.post(UPLOAD)
def bring_in(request: Request, files: Annotated[list[UploadFile], File()]) -> Response:
    """Read all files, then add their records; where one cannot be read, nothing is added."""
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
    """A file's name without folders, and without what cannot be shown; empty where no file was chosen."""
    name = PureWindowsPath(PurePosixPath(given or "").name).name
    return "".join(character for character in name if character.isprintable())[-LONGEST_NAME:]


def _read(name: str, file: UploadFile) -> list[Reference]:
    """The references of an upload. Its ending is all that we take of its name, since formats are told by it."""
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
