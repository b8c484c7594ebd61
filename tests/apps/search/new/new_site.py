"""The pages of `rankwell serve --new` for a visitor without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from rankwell.apps.search.new.application import NewSite
from rankwell.apps.search.settings import ServeSettings
from waiting import wait_until

ROWS = [
    f"T{n};Lampe {n};Die Lampe im Keller {n} ist wieder kaputt;{('blau', 'rot')[n % 2]};{n},50" for n in range(1, 9)
]
TICKETS = "\n".join(["ticket;Betreff;Text;Art;Preis", *ROWS, ""])


class NewVisitor(TestClient):
    """Keeps cookies, sends the token of forms."""

    def token(self) -> str:
        return str(re.findall(r'name="csrf" value="([^"]+)"', self.get("/").text)[0])

    def upload(self, name: str, content: bytes, **form: str) -> Any:
        form = {"csrf": self.token(), **form}
        return self.post("/upload", data=form, files={"file": (name, content)})

    def change(self, page: Any, do: str, **form: str) -> Any:
        """Send the form of a page with some changes."""
        text = page.text
        fields = dict(re.findall(r'<input type="(?:hidden|text)"[^>]*? name="([^"]+)" value="([^"]*)"', text))
        for name, options in re.findall(r'<select id="[^"]+" name="([^"]+)">(.*?)</select>', text, re.DOTALL):
            fields[name] = dict.fromkeys(re.findall(r'value="([^"]*)" selected', options), True) or {"": True}
            fields[name] = next(iter(fields[name]))
        fields = {name: unescape(value) for name, value in fields.items()}
        return self.post(page.url.path, data={**fields, **form, "do": do})

    def finished(self, page: Any) -> str:
        """The page of an upload when it is not being indexed any more."""

        def done() -> str:
            text = self.get(page.url.path).text
            return "" if "so far" in text else text

        return wait_until(done, "the file is indexed", pause=0.1)


@contextmanager
def visiting(folder: Path, **settings: Any) -> Iterator[NewVisitor]:
    """A visitor of a server in this process."""
    site = NewSite(ServeSettings(folder, **settings))
    with NewVisitor(site, base_url="http://127.0.0.1") as visitor:  # type: ignore[arg-type]
        yield visitor
