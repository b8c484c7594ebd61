"""A web application with everything that each of ours needs: static files, error pages, headers, limits, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import MissingExtraError
from rankwell.web.bodies import Bodies
from rankwell.web.faults import Faults
from rankwell.web.headers import SecurityHeaders
from rankwell.web.pages import Pages

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response


class ElsewhereError(Exception):
    """Raised by a page that is not to be seen now: the visitor is sent to another one of ours."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


A_YEAR = "public, max-age=31536000, immutable"


def new_application(
    title: str, pages: Pages, *, describe: bool = False, uploads: Mapping[str, int] | None = None
) -> FastAPI:
    """An application without pages of its own. `describe` publishes its OpenAPI description (tests read it).

    `uploads` are the paths that take files, each with the largest body it may have.
    """
    try:
        from fastapi import FastAPI
        from fastapi.exceptions import RequestValidationError
        from starlette.exceptions import HTTPException
        from starlette.responses import RedirectResponse
    except ImportError as error:
        raise MissingExtraError("the web pages", extra="web") from error

    app = FastAPI(
        title=title, docs_url=None, redoc_url=None, openapi_url="/openapi.json" if describe else None, debug=False
    )

    def http_error(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        response = pages.error(request, status)
        if isinstance(error, HTTPException) and error.headers:
            response.headers.update(error.headers)
        return response

    def invalid(request: Request, _: Exception) -> Response:
        return pages.error(request, 422)

    def elsewhere(_: Request, error: Exception) -> Response:
        return RedirectResponse(pages.url(error.path if isinstance(error, ElsewhereError) else "/"), 303)

    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(ElsewhereError, elsewhere)
    app.add_exception_handler(RequestValidationError, invalid)
    # Added last, met first.
    app.add_middleware(Bodies, sessions=pages.sessions, page=pages.error, uploads=uploads)
    app.add_middleware(Faults, page=pages.error)
    app.add_middleware(SecurityHeaders, secure=pages.sessions.secure)
    _add_static_files(app, pages)
    return app


def _add_static_files(app: FastAPI, pages: Pages) -> None:
    """Files by their plain names; nothing else in those folders or above them can be asked for."""
    from fastapi import HTTPException
    from starlette.responses import FileResponse

    files: dict[str, Path] = {
        file.name: file for folder in reversed(pages.static) for file in folder.iterdir() if file.is_file()
    }

    def static(name: str, v: str = "") -> Response:
        if name not in files:
            raise HTTPException(404)
        current = v == pages.versions[name]
        return FileResponse(files[name], headers={"cache-control": A_YEAR if current else "no-cache"})

    def favicon() -> Response:
        return static("favicon.svg")

    app.add_api_route("/static/{name}", static, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/favicon.ico", favicon, methods=["GET"], response_model=None, include_in_schema=False)
