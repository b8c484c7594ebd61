"""Pages from templates with automatic escaping, and Markdown without HTML."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rankwell import __version__
from rankwell.apps.web.sessions import Session, Sessions
from rankwell.core import MissingExtraError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, Response

R = TypeVar("R", bound="Response")
HERE = Path(__file__).parent
WORDS = {
    400: ("That did not work", "What was sent is not what this page expects."),
    401: ("Please sign in", "This page is for people who have signed in."),
    403: (
        "Not allowed",
        "This page is not for you, or it was open for too long. Go back, reload the page and try again.",
    ),
    404: ("Not found", "There is nothing at this address."),
    405: ("That did not work", "This address cannot be used like that."),
    408: ("Too slow", "What was sent did not arrive in time. Go back and try again."),
    409: ("Not any more", "This has changed in the meantime. Go back and reload the page."),
    410: ("Not valid any more", "This link was used already, or it is too old. Ask for a new one."),
    413: ("Too long", "What was sent is too long."),
    415: ("That did not work", "What was sent is not a form of this site."),
    422: ("That did not work", "Something in the form is missing or not as expected. Go back and try again."),
    429: ("Too many tries", "Please wait a few minutes, then try again."),
    507: (
        "Not saved",
        "This server has no room to save it. What was saved before is safe. Tell the person who runs it.",
    ),
    500: ("Something went wrong", "It is our fault, not yours. What you had saved is saved."),
}


class Pages:
    """Renders templates: an application's own ones first, then the shared ones."""

    def __init__(
        self, sessions: Sessions, *, templates: Sequence[Path], static: Sequence[Path], root: str = ""
    ) -> None:
        self.sessions, self.root = sessions, root
        self.templates = [*templates, HERE / "templates"]
        folders = (HERE / "static", *reversed(static))
        self.files = {file.name: file for folder in folders for file in folder.iterdir() if file.is_file()}
        self.everywhere: dict[str, Any] = {"version": __version__, "site": "Rankwell"}

    @cached_property
    def environment(self) -> Environment:
        """Jinja2 with escaping always on, for all file names."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        made = Environment(
            loader=FileSystemLoader(self.templates),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.globals.update(url=self.url, static=self.static_url, **self.everywhere)
        return made

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """A short hash for each static file, so that a browser keeps it until it changes."""
        return {name: hashlib.sha256(file.read_bytes()).hexdigest()[:12] for name, file in self.files.items()}

    def url(self, path: str) -> str:
        """The URL of a path, below a proxy's prefix."""
        return self.root + path

    def static_url(self, name: str) -> str:
        """The URL of a static file with its version."""
        return self.url(f"/static/{name}?v={self.versions[name]}")

    def session(self, request: Request) -> Session:
        """The session of this browser, or a new one."""
        session = getattr(request.state, "session", None)
        if not isinstance(session, Session):
            session = self.sessions.read(request.cookies.get(self.sessions.cookie)) or Session.begin()
            request.state.session = session
        return session

    def show(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a page, and set the session cookie that its forms need."""
        from starlette.responses import HTMLResponse

        session = self.session(request)
        shared = {"csrf": self.sessions.token(session), "signed_in": session.person is not None, "person": None}
        html = self.environment.get_template(template).render({**shared, **values})
        return self.keep(request, HTMLResponse(html, status))

    def keep(self, request: Request, response: R) -> R:
        """The response with the session's cookie, unless the browser has it."""
        session = self.session(request)
        if self.sessions.read(request.cookies.get(self.sessions.cookie)) != session:
            self.sessions.write(response, session)
        return response

    def error(self, request: Request, status: int, reference: str = "", words: str | None = None) -> HTMLResponse:
        """The error page for a status, without internal details."""
        usual = (HTTPStatus(status).phrase, "This did not work.")
        title, text = WORDS.get(status, usual)
        text = text if words is None else words
        return self.show(request, "error.html", status, title=title, text=text, reference=reference)


def markdown(text: str) -> str:
    """The text as HTML: headings, lists, emphasis, tables, links. HTML in it is shown as text; pictures are left out.

    Headings begin at the second level, because the page around has the first.
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        token.attrs.pop("style", None)  # a column's alignment; our policy allows no inline style
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noopener noreferrer nofollow")
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError("Markdown on web pages", extra="web") from error
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_block", "html_inline"])
