"""Create and run the judging application."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.assess import adjudication_pages, administration, entrance, judging_pages, training_pages
from rankwell.apps.assess.site import StudySite
from rankwell.apps.web import Pages, Postbox, Sessions, mail_settings, normalised_address, secret_key
from rankwell.apps.web.application import new_application, serve
from rankwell.apps.web.visits import LATER
from rankwell.core import ParameterError
from rankwell.judging.sign_in import digest
from rankwell.judging.store import Store
from rankwell.judging.study import AssessError, NoConsentError, NotThereError, PausedError, TooManyAttemptsError
from rankwell.judging.training import NotTrainedError

HERE = Path(__file__).parent
STATUSES = {NotThereError: 404, TooManyAttemptsError: 429, AssessError: 409, ParameterError: 422}
ELSEWHERE: dict[type[Exception], str] = {NoConsentError: "/welcome", NotTrainedError: "/training", PausedError: "/"}


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

    `secure` restricts cookies to HTTPS (default: by `base_url`); without a postbox people sign in by
    invitation only; `describe` publishes the OpenAPI description, for tests.
    """
    base_url, root, https = checked_address(base_url)
    secure = https if secure is None else secure
    sessions = Sessions(key, name=cookie_name(store), secure=secure, path=root or "/")
    pages = Pages(sessions, templates=[HERE / "templates"], static=[HERE / "static"], root=root)
    pages.everywhere["site"] = store.study.title
    app = new_application(store.study.title, pages, describe=describe)
    app.state.site = StudySite(pages, store, base_url, postbox)
    for part in (entrance, training_pages, judging_pages, adjudication_pages, administration):
        app.include_router(part.router)
    _answer_errors(app, pages)
    return app


def cookie_name(store: Store) -> str:
    """The study's own name for its cookie: browsers send a cookie to every port of a host, and so to other studies."""
    return f"rankwell-assess-{digest(store.created_at.isoformat())[:8]}"


def checked_address(base_url: str) -> tuple[str, str, bool]:
    """The address without a slash at its end, its path, and whether it is HTTPS."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ParameterError("--base-url", expected="an address such as https://judge.example.org", found=base_url)
    return base_url.rstrip("/"), parts.path.rstrip("/"), parts.scheme == "https"


def _answer_errors(app: FastAPI, pages: Pages) -> None:
    """Show a study's errors as pages."""

    def refused(request: Request, error: Exception) -> Response:
        if type(error) in ELSEWHERE:
            return RedirectResponse(pages.url(ELSEWHERE[type(error)]), 303)
        status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        told = str(error)[:1].upper() + str(error)[1:] + "." if status == STATUSES[AssessError] else None
        response = pages.error(request, status, words=told)
        response.headers.update(LATER if status == STATUSES[TooManyAttemptsError] else {})
        return response

    for kind in STATUSES:
        app.add_exception_handler(kind, refused)


FROM_A_SHELL = "command line"  # the `place` of an administrator's link from the command line


def run(
    store: Store,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    base_url: str | None = None,
    admin: str | None = None,
    secure: bool = False,
    new_code: bool = False,
    quiet: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a study until it is stopped; `tell` gets the address and the administrator's link.

    `new_code` withdraws an administrator's link that was shown before and not used, and makes another.
    """
    address, _, https = checked_address(base_url or f"http://{f'[{host}]' if ':' in host else host}:{port}")
    settings = mail_settings()
    postbox = None if settings is None else Postbox(settings)
    try:
        app = create_application(store, key=secret_key(), base_url=address, postbox=postbox, secure=secure or https)
        tell(f"{store.study.title}: {address}")
        if postbox is None:
            tell("No mail server is set (RANKWELL_SMTP_HOST): people come in by invitation.")
        link = administrator_link(store, address, admin, new_code=new_code)
        if link is not None:
            tell(f"Administrator, once: {link}")
        elif store.invitations.waiting_administrator() is not None:
            tell("The administrator's link was shown at an earlier start; --new-admin-code makes another.")
        with store.database.in_use():
            serve(app, host=host, port=port, quiet=quiet)
    finally:
        if postbox is not None:
            postbox.close()


def administrator_link(store: Store, address: str, admin: str | None, *, new_code: bool = False) -> str | None:
    """A link that signs an administrator in: the person with that address, or the first visitor without one.

    There is one link for the first visitor at a time, shown once: none is made while another waits, unless `new_code`
    withdraws that one. Whoever can run this command can read the database anyway, so that no further proof is needed.
    """
    if admin is None:
        if any(account.administrator for account in store.people.accounts()):
            return None
        waiting = store.invitations.waiting_administrator()
        if waiting is not None and not new_code:
            return None
        if waiting is not None:
            store.invitations.withdraw(waiting.id)
        return f"{address}/join?code={store.invitations.invite(administrator=True)}"
    email = normalised_address(admin)
    if email is None:
        raise ParameterError("--admin", expected="an e-mail address", found=admin)
    known = [account.name for account in store.people.accounts() if store.people.address(account.name) == email]
    for name in known:
        store.people.make_administrator(name)
    code = None if known else store.invitations.invite(administrator=True, days=1)
    token = store.sign_in.request_link(email, FROM_A_SHELL, code)
    return None if token is None else f"{address}/sign-in/link?token={token}"
