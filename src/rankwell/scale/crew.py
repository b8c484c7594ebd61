"""Who works: a crew of workers somewhere, as those who share the work out see it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from rankwell.scale.outcomes import Outcome
from rankwell.scale.tasks import Task

Ticket = Hashable


class Crew(Protocol):
    """Workers by name. Each works through what it is given in the order in which it is given."""

    def hire(self, task: Task) -> dict[str, Ticket]:
        """Get all workers and have each load a task; the tickets of their loading, by worker."""

    def rehire(self, worker: str, task: Task) -> tuple[str, Ticket] | None:
        """A new worker in the place of a lost one; None where that place is gone as well."""

    def submit(self, worker: str, chunk: Any) -> Ticket:
        """Give a worker a chunk."""

    def wait(self, seconds: float) -> Sequence[tuple[Ticket, Outcome]]:
        """What has been finished or lost; nothing where that takes longer."""

    def dismiss(self, worker: str) -> None:
        """Let a worker go, and what it was given."""

    def threads(self, worker: str) -> int:
        """How many threads a worker has."""

    def close(self) -> None:
        """Let all of them go."""
