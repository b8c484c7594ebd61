"""Small projects for tests of screening, and a visitor of their pages: a browser without a window and scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from rankwell.reviews import Reference
from rankwell.reviews.screening.store import Project, open_project

TITLE = "Exercise for depression in adults"
EXERCISE = ("Running", "Walking", "Swimming", "Yoga", "Cycling", "Rowing")
OTHER = ("Concrete", "Steel", "Timber", "Glass", "Brick", "Copper")


def references(count: int = 12) -> list[Reference]:
    """Half of them about exercise and depression, half about building materials; all different."""
    made = []
    for number in range(count):
        word = (EXERCISE if number % 2 else OTHER)[number // 2 % 6]
        if number % 2:
            title = f"{word} as a treatment of depression: trial {number}"
            abstract = f"Adults with depression were given exercise ({word.lower()}) or usual care in trial {number}."
        else:
            title = f"{word} under load in long bridges, report {number}"
            abstract = f"Beams of {word.lower()} were loaded until they failed; report {number} on fatigue."
        made.append(
            Reference(
                title=title, abstract=abstract, authors=(f"{word}son A", "Doe J"), year=2000 + number, journal="J Med"
            )
        )
    return made


def make_project(
    where: Path | str, records: Sequence[Reference] | None = None, reviewers: Sequence[str] = (), title: str = TITLE
) -> Project:
    project = open_project(where, title=title, reviewers=reviewers)
    project.import_references("records.ris", references() if records is None else records)
    return project


class Visitor(TestClient):
    """Keeps cookies, finds the token of each page's forms, and sends forms as a browser does."""

    def __init__(self, app: FastAPI, reviewer: int | None = 1, **settings: Any) -> None:
        super().__init__(app, base_url="http://screen.example.org", **settings)
        if reviewer is not None:
            people = {one.id: one for one in app.state.site.project.reviewers()}
            self.get(app.state.site.link(people[reviewer]))

    def token(self, path: str = "/settings") -> str:
        return str(re.findall(r'name="csrf" value="([^"]+)"', self.get(path).text)[0])

    def submit(self, path: str, **fields: Any) -> Any:
        return self.post(path, data={"csrf": self.token(), **fields})

    def next_record(self) -> int:
        return int(re.findall(r'class="decide" method="post" action="/screen/(\d+)"', self.get("/screen").text)[0])
