"""The context of all pages: the study and the signed-in account."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request
from starlette.responses import Response

from rankwell.apps.web import Pages, Postbox, markdown, visits
from rankwell.apps.web.application import ElsewhereError
from rankwell.judging.people import Account
from rankwell.judging.store import Store

TEN = "t"


def grade_keys(grades: Iterable[int]) -> dict[int, str]:
    """A grade's own digit, and t for ten (of the scale with eleven points); others are reached by the arrows."""
    keys = {**{digit: str(digit) for digit in range(10)}, 10: TEN}
    return {grade: keys[grade] for grade in grades if grade in keys}


class StudySite(visits.Site):
    """One study, its pages, and how people are reached."""

    def __init__(self, pages: Pages, store: Store, base_url: str, postbox: Postbox | None) -> None:
        super().__init__(pages)
        self.store, self.base_url, self.postbox = store, base_url, postbox
        self.guidelines, self.keys = markdown(store.study.guidelines), grade_keys(store.study.grades)

    def link(self, token: str) -> str:
        """The URL of a sign-in link."""
        return f"{self.base_url}/sign-in/link?token={quote(token)}"

    def invitation(self, code: str) -> str:
        """The URL of an invitation."""
        return f"{self.base_url}/join?code={quote(code)}"


class StudyVisit(visits.Visit):
    """A request to a study's pages, and the account that is signed in."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.site: StudySite = request.app.state.site
        self.store, self.study = self.site.store, self.site.store.study

    @cached_property
    def account(self) -> Account | None:
        """The signed-in account, or None."""
        if self.session.person is None:
            return None
        account = self.store.people.account(self.session.person)
        return account if account is not None and account.session == self.session.generation else None

    @property
    def me(self) -> Account:
        """The signed-in account; redirects to the sign-in page without one."""
        if self.account is None:
            raise ElsewhereError("/sign-in")
        return self.account

    def show(self, template: str, status: int | None = None, **values: Any) -> Response:
        """Render a page, or only its main part for our script."""
        shared = {"account": self.account, "study": self.study, "keys": self.site.keys}
        return super().show(template, status, **shared | values)


async def _visit(request: Request) -> StudyVisit:
    return StudyVisit(request)


Visit = Annotated[StudyVisit, Depends(_visit)]


def check_assessor(visit: Visit) -> None:
    """Redirect a visitor who has not signed in, or not agreed to the study's terms."""
    if not visit.me.consented:
        raise ElsewhereError("/welcome")


def check_administrator(visit: Visit) -> None:
    """Redirect a visitor who has not signed in; status 403 for others than administrators."""
    if not visit.me.administrator:
        raise HTTPException(403)


def check_adjudicator(visit: Visit) -> None:
    """Redirect a visitor who has not signed in; status 403 for others than adjudicators and administrators."""
    if not (visit.me.adjudicator or visit.me.administrator):
        raise HTTPException(403)
