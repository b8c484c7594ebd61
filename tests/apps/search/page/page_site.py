"""A small index with years, sources and hostile texts, and its page for a visitor without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from rankwell.apps.search.application import create_application
from rankwell.apps.search.service import create_service
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import Document
from rankwell.index import IndexWriter

HOSTILE = "<script>document.title='hacked'</script>\"><img src=x onerror=\"document.title='hacked'\">\u202eevil&amp;"
SOURCES = ("PMC", "WHO", "Elsevier BV")
HUGE = 1_000_000


def documents() -> list[Document]:
    """Thirty about fever, in years from 1990 on, and three that mean harm."""
    harmless = [
        Document(
            f"d{number}",
            {
                "title": f"Fever study {number}",
                "abstract": f"{'fever ' * (number % 5 + 1)}in children number {number}. The cough of trial {number}.",
            },
            {"year": 1990 + number, "source": SOURCES[number % 3]},
        )
        for number in range(30)
    ]
    hostile = [
        Document("../<b>bad</b>", {"title": HOSTILE, "abstract": f"hostile {HOSTILE} words"}, {"source": HOSTILE}),
        Document(
            "long", {"title": "Pneumono" * 500, "abstract": f"hostile {'ultramicroscopic' * 500}"}, {"year": 2000}
        ),
        Document("huge", {"abstract": "hostile " + "all work and no play " * (HUGE // 21)}, {"source": HOSTILE}),
    ]
    return [*harmless, *hostile]


def make_index(folder: Path, more: Iterable[Document] = ()) -> Path:
    with IndexWriter(folder, metadata=["year", "source"]) as writer:
        writer.add_all([*documents(), *more])
    return folder


class PageVisitor(TestClient):
    """Keeps cookies, finds the token of forms."""

    def token(self, path: str) -> str:
        return str(re.findall(r'name="csrf" value="([^"]+)"', self.get(path).text)[0])

    def sign_in(self, secret: str, **fields: str) -> Any:
        """Sign in with a key; the answer, not the page that it leads to."""
        form = {"csrf": self.token("/sign-in"), "key": secret, **fields}
        return self.post("/sign-in", data=form, follow_redirects=False)

    def judge(self, q: str, docno: str, grade: str, **fields: Any) -> Any:
        """Press a thumb; the answer, not the page that it leads to."""
        form = {"csrf": self.token(f"/?q={q}"), "q": q, "id": docno, "grade": grade, **fields}
        return self.post("/judge", data=form, follow_redirects=False)


@contextmanager
def visiting(index: Path, folder: Path | None, **settings: Any) -> Iterator[PageVisitor]:
    """A visitor of a server in this process, whose judgments and keys go into the folder."""
    files = {"judgments": folder / "thumbs.jsonl", "keys": folder / "keys.json"} if folder else {}
    made = ServeSettings(index, **{**files, **settings})
    with PageVisitor(create_application(create_service(made)), base_url="http://127.0.0.1") as visitor:  # type: ignore[arg-type]
        yield visitor


def another(visitor: PageVisitor) -> PageVisitor:
    """Somebody else, in a browser of their own, at the same server."""
    return PageVisitor(visitor.app, base_url="http://127.0.0.1")
