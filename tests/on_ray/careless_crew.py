"""A crew that loses workers and chunks when it is told to: everything about sharing work out, without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwell.ray.worker import InProcess, Lost, Outcome, Task, Work

Accident = Callable[[str, Any], bool]


@dataclass(frozen=True)
class Doubling:
    """Twice the number; loads nothing."""

    def open(self, threads: int) -> Work:  # noqa: ARG002 -- needs none
        return lambda number: 2 * number

    def describe(self, chunk: int) -> str:
        return f"the number {chunk}"


class CarelessCrew(InProcess):
    """Loses the worker whenever `accident` says so of it and its chunk (None while it loads)."""

    def __init__(self, workers: int, accident: Accident, *, places_stay: bool = True) -> None:
        super().__init__(workers)
        self.accident, self.places_stay = accident, places_stay
        self.submitted = 0
        self.most_waiting = 0
        self.loaded: list[str] = []
        self.owners: dict[Any, str] = {}

    def rehire(self, worker: str, task: Task) -> Any:
        return super().rehire(worker, task) if self.places_stay else None

    def submit(self, worker: str, chunk: Any) -> Any:
        self.submitted += 1
        ticket = super().submit(worker, chunk)
        self.owners[ticket] = worker
        self.most_waiting = max(self.most_waiting, len(self._waiting))
        return ticket

    def outcome(self, worker: str, task: Task | None, chunk: Any) -> Outcome:
        if self.accident(worker, chunk if task is None else None):
            return Lost("killed")
        if task is not None:
            self.loaded.append(worker)
        return super().outcome(worker, task, chunk)
