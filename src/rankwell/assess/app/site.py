"""What every page of the application works with: the study, the templates, and who is asking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fastapi import HTTPException, Request
from starlette.responses import RedirectResponse, Response

from rankwell.assess.accounts import Account
from rankwell.assess.app.keys import grade_keys
from rankwell.assess.store import Store
from rankwell.web import Pages, markdown
from rankwell.web.application import ElsewhereError

FRAGMENT = "x-rankwell-fragment"  # sent by our script, which wants the changed part of a page only


@dataclass(frozen=True)
class Site:
    """One study and its pages. Roles are looked up for every request: who was paused or deleted is so at once."""

    store: Store
    pages: Pages

    @cached_property
    def guidelines(self) -> str:
        """How to grade, as HTML that does nothing."""
        return markdown(self.store.study.guidelines)

    @cached_property
    def keys(self) -> dict[int, str]:
        """Which key gives which grade."""
        return grade_keys(self.store.study.grades)

    def account(self, request: Request) -> Account | None:
        """Who is asking, if they are signed in and their session has not been ended."""
        session = self.pages.session(request)
        if session.person is None:
            return None
        account = self.store.people.account(session.person)
        return account if account is not None and account.session == session.generation else None

    def signed_in(self, request: Request) -> Account:
        """Who is asking; who is not signed in is sent to do so."""
        account = self.account(request)
        if account is None:
            raise ElsewhereError("/sign-in")
        return account

    def assessor(self, request: Request) -> Account:
        """Who is asking, and has agreed to the study's terms."""
        account = self.signed_in(request)
        if not account.consented:
            raise ElsewhereError("/welcome")
        return account

    def administrator(self, request: Request) -> Account:
        """Who is asking, and administers the study."""
        account = self.signed_in(request)
        if not account.administrator:
            raise HTTPException(403)
        return account

    def show(
        self, request: Request, template: str, account: Account | None, status: int = 200, **values: Any
    ) -> Response:
        """A page, or only its main part where our script asks for that."""
        layout = "fragment.html" if FRAGMENT in request.headers else "layout.html"
        return self.pages.show(
            request,
            template,
            status,
            layout=layout,
            account=account,
            study=self.store.study,
            keys=self.keys,
            **values,
        )

    def go(self, path: str) -> Response:
        """To another page, after a form."""
        return RedirectResponse(self.pages.url(path), 303)


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.site
    return found
