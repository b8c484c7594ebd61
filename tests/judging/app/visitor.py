"""A visitor of the judging pages: a browser without a window and without scripts."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from rankwell.judging.store import Store


class Visitor(TestClient):
    """Keeps cookies, finds the token of each form, and sends forms as a browser does."""

    def __init__(self, app: FastAPI, **settings: Any) -> None:
        super().__init__(app, base_url="http://judge.example.org", **settings)

    def token(self, path: str = "/sign-in") -> str:
        return str(re.findall(r'name="csrf" value="([^"]+)"', self.get(path).text)[0])

    def submit(self, path: str, page: str = "/me", **fields: Any) -> Any:
        """Send a form that stands on a page."""
        return self.post(path, data={"csrf": self.token(page), **fields})

    def join(self, store: Store, *, administrator: bool = False, consent: bool = True) -> str:
        """Come in by invitation and agree to the terms; the random name."""
        code = store.invitations.invite(administrator=administrator)
        assert "You are in" in self.submit("/sign-in/code", "/sign-in", code=code).text
        name = re.findall(r"<code>(\w+)</code>", self.get("/me").text)[0]
        if consent:
            self.submit("/welcome", agreed="yes", english=8)
        return str(name)

    def begin(self) -> Any:
        return self.submit("/begin", "/me")

    def form(self) -> str:
        """Where the form of the judging page goes."""
        return str(re.findall(r'class="answer" method="post" action="([^"]+)"', self.get("/judge").text)[0])

    def grade(self, answer: str | int, **fields: Any) -> Any:
        """Answer for the passage that is next."""
        page = self.get("/judge").text
        action = re.findall(r'class="answer" method="post" action="([^"]+)"', page)[0]
        token = re.findall(r'name="csrf" value="([^"]+)"', page)[0]
        return self.post(action, data={"csrf": token, "answer": str(answer), **fields})
