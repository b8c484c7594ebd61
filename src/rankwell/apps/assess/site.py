"""The context of all pages: the study, the signed-in account, and a passage laid out for reading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, NamedTuple
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


def only_ends_named(names: Iterable[tuple[int, str]]) -> bool:
    """Whether a scale names only its first and last grade: then the names are shown beside the grades."""
    first, *between, last = [name != str(grade) for grade, name in names]
    return first and last and bool(between) and not any(between)


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

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
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
