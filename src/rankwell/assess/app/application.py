"""The judging application, put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rankwell.assess.errors import AssessError, NoConsentError, NotThereError, PausedError, TooManyAttemptsError
from rankwell.assess.store import Store
from rankwell.core import MissingExtraError, ParameterError
from rankwell.web import Pages, Postbox, RateLimit, Sessions

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

HERE = Path(__file__).parent
STATUSES = {
    NotThereError: 404,
    PausedError: 403,
    TooManyAttemptsError: 429,
    AssessError: 409,
    ParameterError: 422,
}


def create_application(
    store: Store,
    *,
    key: bytes,
    base_url: str,
    postbox: Postbox | None = None,
    secure: bool | None = None,
    describe: bool = False,
) -> FastAPI:
    """The application for one study, reached at `base_url`.

    `secure` puts cookies on HTTPS only (taken from the address where not said); without a postbox people come in by
    invitation only; `describe` publishes the OpenAPI description, for tests.
    """
    try:
        from rankwell.web.application import new_application
        from rankwell.web.sign_in import TRIES_PER_MINUTE, Door, add_sign_in
    except ImportError as error:
        raise MissingExtraError("the judging pages", extra="assess") from error
    from rankwell.assess.app import administration, entrance, judging_pages, results
    from rankwell.assess.app.doorkeeper import StudyDoorkeeper
    from rankwell.assess.app.site import Site

    base_url, root, https = checked_address(base_url)
    sessions = Sessions(key, name="rankwell-assess", secure=https if secure is None else secure, path=root or "/")
    pages = Pages(sessions, templates=[HERE / "templates"], static=[HERE / "static"], root=root)
    pages.everywhere["site"] = store.study.title
    app = new_application(store.study.title, pages, describe=describe)
    app.state.site = Site(store, pages)
    tries = RateLimit(TRIES_PER_MINUTE, 60)
    add_sign_in(app, Door(store.study.title, pages, StudyDoorkeeper(store), base_url, tries, postbox))
    for part in (entrance, judging_pages, administration, results):
        app.include_router(part.router)
    _answer_errors(app, pages)
    return app


def checked_address(base_url: str) -> tuple[str, str, bool]:
    """The address without a slash at its end, its path, and whether it is HTTPS."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ParameterError("--base-url", expected="an address such as https://judge.example.org", found=base_url)
    return base_url.rstrip("/"), parts.path.rstrip("/"), parts.scheme == "https"


def _answer_errors(app: FastAPI, pages: Pages) -> None:
    """What a study refuses, as pages."""
    from starlette.responses import RedirectResponse

    def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, NoConsentError):
            return RedirectResponse(pages.url("/welcome"), 303)
        if isinstance(error, PausedError):
            return RedirectResponse(pages.url("/"), 303)
        status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        told = str(error)[:1].upper() + str(error)[1:] + "." if status == STATUSES[AssessError] else None
        return pages.error(request, status, words=told)

    for kind in STATUSES:
        app.add_exception_handler(kind, refused)
