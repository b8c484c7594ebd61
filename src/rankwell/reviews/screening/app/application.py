"""The screening application, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import MissingExtraError, ParameterError
from rankwell.reviews.screening.ranking import Ranking
from rankwell.reviews.screening.store import Project
from rankwell.web import Pages, Sessions, Signer

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

HERE = Path(__file__).parent
LARGEST_UPLOAD = 64 * 1024 * 1024
CLOSED = "Open this project with the link that `rankwell review screen` printed when it was started."


def create_application(
    project: Project, *, key: bytes, model: str | None = None, secure: bool = False, describe: bool = False
) -> FastAPI:
    """The application for one project.

    `model` (BERT) reads the records in the background; `describe` publishes the OpenAPI description, for tests.
    """
    try:
        from rankwell.web.application import new_application
    except ImportError as error:
        raise MissingExtraError("the screening pages", extra="reviews") from error
    from rankwell.reviews.screening.app import (
        entrance,
        import_pages,
        list_pages,
        pair_pages,
        result_pages,
        screening_pages,
    )
    from rankwell.reviews.screening.app.site import Site

    # Browsers send a host's cookies to all of its ports: two projects at once must not share a name.
    sessions = Sessions(key, name=f"rankwell-screen-{project.key}", secure=secure)
    pages = Pages(sessions, templates=[HERE / "templates"], static=[HERE / "static"])
    app = new_application("Screening", pages, describe=describe, uploads={import_pages.UPLOAD: LARGEST_UPLOAD})
    ranking = Ranking(project, model)
    app.state.site = Site(project, ranking, pages, Signer(key, f"screen:{project.key}"))
    _run_with(app, ranking)
    for part in (entrance, screening_pages, list_pages, pair_pages, result_pages, import_pages):
        app.include_router(part.router)
    _answer_errors(app, pages)
    return app


def _run_with(app: FastAPI, ranking: Ranking) -> None:
    """The ranking learns while the application runs."""

    @asynccontextmanager
    async def learning(_: FastAPI) -> AsyncIterator[None]:
        ranking.start()
        yield
        ranking.close()

    app.router.lifespan_context = learning


def _answer_errors(app: FastAPI, pages: Pages) -> None:
    from rankwell.reviews.screening.app.site import ClosedError

    def closed(request: Request, _: Exception) -> Response:
        return pages.error(request, 401, words=CLOSED)

    def refused(request: Request, _: Exception) -> Response:
        return pages.error(request, 422)

    app.add_exception_handler(ClosedError, closed)
    app.add_exception_handler(ParameterError, refused)
