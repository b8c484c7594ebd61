"""The pages of `rankwell serve --new`: upload, how the file is read, progress."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, HTTPException, Request, UploadFile
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from rankwell.apps.search.new.uploads import (
    ENCODINGS,
    MOST_COLUMNS,
    USES,
    BusyError,
    Upload,
    Uploads,
    choose,
)
from rankwell.apps.search.page.site import counted
from rankwell.apps.web import Pages
from rankwell.apps.web.uploads import LARGEST_UPLOAD, shown_name
from rankwell.apps.web.visits import layout_for, wants_fragment
from rankwell.collections.dates import ORDERS
from rankwell.core import RankwellError
from rankwell.core.errors import NotSavedError
from rankwell.index import Index

router = APIRouter(include_in_schema=False)
logger = logging.getLogger("rankwell.web.new")
HOME, UPLOAD, FILE, INDEX = "/", "/upload", "/file", "/i"
TEMPLATES, STATIC = (Path(__file__).parent / name for name in ("templates", "static"))
MEGABYTE = 1 << 20


class NewPages:
    """The pages of one server."""

    def __init__(self, pages: Pages, uploads: Uploads) -> None:
        self.pages, self.uploads = pages, uploads

    def show(self, request: Request, template: str, error: RankwellError | None = None, **values: Any) -> Response:
        """Render a page; `error` is shown at its top."""
        status = 200 if error is None else 503 if isinstance(error, BusyError) else 422
        problem = None if error is None else str(error)
        shown = 200 if wants_fragment(request) else status
        return self.pages.show(request, template, shown, layout=layout_for(request), problem=problem, **values)

    def home(self, request: Request, error: RankwellError | None = None) -> Response:
        """The form, and the indexes that are there."""
        indexes = [(name, self._size(name), self.pages.url(f"{INDEX}/{name}/")) for name in self.uploads.names()]
        return self.show(request, "home.html", error, indexes=indexes, largest=LARGEST_UPLOAD // MEGABYTE)

    def reading(self, request: Request, upload: Upload, error: RankwellError | None = None) -> Response:
        """How a file is read, with a menu for each column."""
        table = upload.table
        columns = [] if table is None else list(zip(table.columns, upload.uses, strict=True))[:MOST_COLUMNS]
        values = {
            "upload": upload,
            "columns": columns,
            "more": 0 if table is None else len(table.columns) - len(columns),
            "doubts": [doubt.partition(": --")[0] for table in upload.look.tables for doubt in table.doubts],
            "details": [", ".join(table.details) for table in upload.look.tables],
            "dated": any(column.kind == "date" for column, _ in columns) or bool(upload.dates),
            "uses": USES,
            "orders": ORDERS,
            "encodings": ENCODINGS,
            "by_content": table is not None and not any(use.startswith("id") for use in upload.uses),
        }
        return self.show(request, "reading.html", error, **values)

    def go(self, request: Request, path: str) -> Response:
        """Redirect to another page after a form."""
        return self.pages.keep(request, RedirectResponse(self.pages.url(path), 303))

    def upload(self, upload: str) -> Upload:
        """The upload of that id; status 404 for one that is gone."""
        try:
            return self.uploads[upload]
        except KeyError:
            raise HTTPException(404) from None

    def _size(self, name: str) -> str:
        try:
            return counted(len(Index.open(self.uploads.folder / name)), "document")
        except RankwellError as error:
            logger.warning("%s", error)
            return "cannot be opened"


def pages_of(request: Request) -> NewPages:
    """The pages that a request was sent to."""
    pages: NewPages = request.app.state.new_pages
    return pages


@router.get(HOME)
def home(request: Request) -> Response:
    """The form, and the indexes that are there."""
    return pages_of(request).home(request)


@router.get(INDEX + "/{name}")
def search(request: Request, name: str) -> Response:
    """To the search page of an index, whose address ends in a slash."""
    site = pages_of(request)
    if name not in site.uploads.names():
        raise HTTPException(404)
    return site.go(request, f"{INDEX}/{name}/")


@router.post(UPLOAD)
def receive(request: Request, file: Annotated[UploadFile, File()]) -> Response:
    """Take a file and look at it."""
    site, name = pages_of(request), shown_name(file.filename)
    if not name:
        return site.home(request, RankwellError("Choose a file first."))
    try:
        upload = site.uploads.receive(name, file.file)
    except NotSavedError:
        raise
    except RankwellError as error:
        return site.home(request, error)
    return site.go(request, f"{FILE}/{upload.id}")


@router.get(FILE + "/{upload}")
def reading(request: Request, upload: str) -> Response:
    """How the file is read; once it is being indexed, how far that is."""
    site = pages_of(request)
    known = site.upload(upload)
    if known.progress is None:
        return site.reading(request, known)
    if known.progress.trouble:
        error, known.progress = RankwellError(known.progress.trouble), None
        return site.reading(request, known, error)
    link = site.pages.url(f"{INDEX}/{known.progress.index}/")
    count = counted(known.progress.count, "document")
    return site.show(request, "progress.html", upload=known, progress=known.progress, count=count, link=link)


@router.post(FILE + "/{upload}")
async def change(request: Request, upload: str) -> Response:
    """Look again with other settings, or index."""
    site = pages_of(request)
    known = site.upload(upload)
    given = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    if known.progress is None:
        try:
            await run_in_threadpool(_change, site.uploads, known, given)
        except RankwellError as error:
            return await run_in_threadpool(site.reading, request, known, error)
    return site.go(request, f"{FILE}/{known.id}")


def _change(uploads: Uploads, upload: Upload, given: dict[str, str]) -> None:
    encoding, to_index = upload.encoding, given.get("do") == "index"
    choose(upload, given)
    if (not to_index or encoding != upload.encoding) and not uploads.look_again(upload) and to_index:
        raise RankwellError("In this encoding the columns have other names: look at them, then index the file.")
    if to_index:
        uploads.start(upload)
