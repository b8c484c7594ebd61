"""Studies made in a line, and assessors who do as they are told."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rankwell.core import Judgments
from rankwell.judging.opening import Material
from rankwell.judging.store import Store, write_study_database
from rankwell.judging.study import Study


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **duration: float) -> None:
        self.now += timedelta(**duration)


def make_study(
    address: Path | str,
    queries: int = 12,
    passages: int = 3,
    *,
    clock: Callable[[], datetime] | None = None,
    seed: int = 0,
    originals: Judgments | None = None,
    **settings: object,
) -> Store:
    """A study with queries q1, q2, ... which share the passages d1, d2, ..."""
    docnos = [f"d{number}" for number in range(1, passages + 1)]
    texts = {f"q{number}": f"question {number}" for number in range(1, queries + 1)}
    pool = {qid: {docno: rank for rank, docno in enumerate(docnos, 1)} for qid in texts}
    material = Material(
        texts, {docno: {"text": f"text of {docno}"} for docno in docnos}, pool, originals or Judgments(), {}
    )
    database = write_study_database(Study("A study", **settings), material, address)
    return Store(database, clock=clock or Clock(), random=random.Random(seed))  # noqa: S311 -- the same every time


def join(store: Store, people: int = 1) -> list[str]:
    """New assessors who have agreed to the terms, by their names."""
    code = store.invitations.invite(places=people)
    names = [store.invitations.redeem(code, "10.0.0.1").account.name for _ in range(people)]
    for name in names:
        store.people.consent(name)
    return names


def grade_all(store: Store, name: str, grade: int | None = 3) -> int:
    """Grade all that is open; how many passages that was."""
    count = 0
    while task := store.judging.task(name):
        store.judging.give(name, task.assignment, task.position, grade)
        count += 1
    return count


def work_of(store: Store) -> dict[str, list[str]]:
    """The queries each assessor was given."""
    names = [account.name for account in store.people.accounts()]
    return {name: [work.qid for work in store.judging.queries(name)] for name in names}
