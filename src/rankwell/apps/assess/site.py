"""The context of all pages: the study, the templates and the signed-in account."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fastapi import HTTPException, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.web import Pages, markdown
from rankwell.apps.web.application import ElsewhereError
from rankwell.judging.people import Account
from rankwell.judging.store import Store

TEN = "t"


def grade_keys(grades: Iterable[int]) -> dict[int, str]:
    """A grade's own digit, and t for ten (of the scale with eleven points); others are reached by the arrows."""
    keys = {**{digit: str(digit) for digit in range(10)}, 10: TEN}
    return {grade: keys[grade] for grade in grades if grade in keys}


def only_ends_named(names: Iterable[tuple[int, str]]) -> bool:
    """Whether a scale names only its first and last grade: then the names are shown beside the grades."""
    first, *between, last = [name != str(grade) for grade, name in names]
    return first and last and bool(between) and not any(between)


FRAGMENT = "x-rankwell-fragment"  # a header of our script, which needs only the changed part of a page


@dataclass(frozen=True)
class Site:
    """One study and its pages. Roles are checked at every request, so that pausing and deleting take effect at once."""

    store: Store
    pages: Pages

    @cached_property
    def guidelines(self) -> str:
        """The guidelines as safe HTML."""
        return markdown(self.store.study.guidelines)

    @cached_property
    def keys(self) -> dict[int, str]:
        """Grade -> its key."""
        return grade_keys(self.store.study.grades)

    def account(self, request: Request) -> Account | None:
        """The signed-in account, or None."""
        session = self.pages.session(request)
        if session.person is None:
            return None
        account = self.store.people.account(session.person)
        return account if account is not None and account.session == session.generation else None

    def signed_in(self, request: Request) -> Account:
        """The signed-in account; redirects to the sign-in page without one."""
        account = self.account(request)
        if account is None:
            raise ElsewhereError("/sign-in")
        return account

    def assessor(self, request: Request) -> Account:
        """The signed-in account, if it has agreed to the study's terms."""
        account = self.signed_in(request)
        if not account.consented:
            raise ElsewhereError("/welcome")
        return account

    def administrator(self, request: Request) -> Account:
        """The signed-in account, if it is an administrator's; else status 403."""
        account = self.signed_in(request)
        if not account.administrator:
            raise HTTPException(403)
        return account

    def show(
        self, request: Request, template: str, account: Account | None, status: int = 200, **values: Any
    ) -> Response:
        """Render a page, or only its main part for our script."""
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
        """Redirect to another page after a form."""
        return RedirectResponse(self.pages.url(path), 303)


def site_of(request: Request) -> Site:
    """The site that a request was sent to."""
    found: Site = request.app.state.site
    return found


TITLE = "title"
WORD = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001 -- texts have both kinds of apostrophe
BREAK = re.compile(r"\n[^\S\n]*\n\s*")
SHORTEST = 2  # characters of a highlighted word
# Words of a query that are not highlighted.
PLAIN_TEXT = """
a about an and are as at be by can could did do does for from had has have how i if in into is it its of on or should so
than that the their them then there these they this to was were what when where which who whom whose why will with would
you your
"""
PLAIN = frozenset(PLAIN_TEXT.split())


class PassagePiece(NamedTuple):
    """A piece of text, highlighted or not."""

    text: str
    marked: bool


Paragraph = tuple[PassagePiece, ...]


class PassageSection(NamedTuple):
    """One text of a passage with its name, which is shown where there are several."""

    name: str
    paragraphs: tuple[Paragraph, ...]


class PassageReading(NamedTuple):
    """A passage laid out: its title (empty where it has none) and its other texts."""

    title: Paragraph
    sections: tuple[PassageSection, ...]


def lay_out(passage: Mapping[str, str], query: str, *, mark: bool) -> PassageReading:
    """The passage in paragraphs. Nothing in it is markup: templates escape every piece."""
    words = query_words(query) if mark else frozenset()
    texts = {name: text for name, text in passage.items() if text.strip()}
    title = texts.pop(TITLE, "") if len(texts) > 1 else ""
    sections = tuple(
        PassageSection(name, tuple(tuple(_pieces(part, words)) for part in BREAK.split(text.strip())))
        for name, text in texts.items()
    )
    return PassageReading(tuple(_pieces(title, words)), sections)


def query_words(query: str) -> frozenset[str]:
    """The words of a query to highlight, in lower case."""
    found = (word.casefold() for word in WORD.findall(query))
    return frozenset(word for word in found if len(word) >= SHORTEST and word not in PLAIN)


def _pieces(text: str, words: frozenset[str]) -> Iterator[PassagePiece]:
    end = 0
    for match in WORD.finditer(text) if words else ():
        if match[0].casefold() in words:
            if match.start() > end:
                yield PassagePiece(text[end : match.start()], marked=False)
            yield PassagePiece(match[0], marked=True)
            end = match.end()
    if end < len(text):
        yield PassagePiece(text[end:], marked=False)
