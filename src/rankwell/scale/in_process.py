"""A crew right here, in this process: for work that is too small to travel, and for trying things out."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from rankwell import __version__
from rankwell.scale.crew import Ticket
from rankwell.scale.outcomes import Outcome
from rankwell.scale.tasks import Task
from rankwell.scale.worker import Worker


class InProcess:
    """Workers who take turns. Nothing happens before somebody waits for it."""

    def __init__(self, workers: int = 1, threads: int = 1) -> None:
        self._count, self._threads = workers, threads
        self._workers: dict[str, Worker] = {}
        self._waiting: deque[tuple[int, str, Task | None, Any]] = deque()
        self._tickets = 0
        self._named = 0

    def hire(self, task: Task) -> dict[str, Ticket]:
        """New ones."""
        return dict(self._hire(task) for _ in range(self._count))

    def rehire(self, worker: str, task: Task) -> tuple[str, Ticket] | None:
        """Another one."""
        self._workers.pop(worker, None)
        return self._hire(task)

    def submit(self, worker: str, chunk: Any) -> Ticket:
        """Put it at the end of the queue."""
        return self._put(worker, None, chunk)

    def wait(self, seconds: float) -> Sequence[tuple[Ticket, Outcome]]:  # noqa: ARG002 -- here it takes as long as it takes
        """Do the next thing."""
        while self._waiting:
            ticket, name, task, chunk = self._waiting.popleft()
            if name in self._workers:
                return [(ticket, self.outcome(name, task, chunk))]
        return []

    def outcome(self, worker: str, task: Task | None, chunk: Any) -> Outcome:
        """What becomes of a chunk, or of loading a task."""
        one = self._workers[worker]
        return one.run(chunk) if task is None else one.open(task, self._threads, __version__)

    def dismiss(self, worker: str) -> None:
        """Forget it."""
        self._workers.pop(worker, None)

    def threads(self, worker: str) -> int:  # noqa: ARG002 -- all alike
        """The same for all."""
        return self._threads

    def close(self) -> None:
        """Forget all."""
        self._workers.clear()
        self._waiting.clear()

    def _hire(self, task: Task) -> tuple[str, Ticket]:
        self._named += 1
        name = f"worker {self._named}"
        self._workers[name] = Worker()
        return name, self._put(name, task, None)

    def _put(self, worker: str, task: Task | None, chunk: Any) -> Ticket:
        self._tickets += 1
        self._waiting.append((self._tickets, worker, task, chunk))
        return self._tickets
