"""Workers, tasks and outcomes: the worker's side, and crews of workers in this process or on a Ray cluster."""

from __future__ import annotations

import logging
import re
import sys
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from logging.handlers import BufferingHandler
from typing import Any, Protocol

from rankwell import __version__
from rankwell.core import RankwellError


@dataclass(frozen=True)
class Done:
    """The chunk is finished. `notes` are its warnings."""

    value: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """The worker could not do the chunk. `final` where it would fail anywhere: an error of the user."""

    reason: str
    final: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lost:
    """The worker is gone, with the chunks it had."""

    reason: str


Outcome = Done | Failed | Lost


Work = Callable[[Any], Any]


class Task(Protocol):
    """A frozen record of plain values, because it is sent to workers. One kind of work per class."""

    def open(self, threads: int) -> Work:
        """Load what is needed, once per worker. Returns a function from a chunk to its result.

        Raises a RankwellError where this worker would give a different result: another model, another index.
        """

    def describe(self, chunk: Any) -> str:
        """The chunk in an error message: `32 pairs from "fever"`."""


LOGGER = "rankwell"


class Worker:
    """One loaded task. It lives in a process on a cluster, or in this process."""

    def __init__(self) -> None:
        self._work: Work | None = None

    def open(self, task: Task, threads: int, version: str) -> Done | Failed:
        """Load the task; refuse where the caller has another version of Rankwell."""
        if version != __version__:
            return Failed(f"expected Rankwell {version} as here, found {__version__}", final=True)

        def load() -> None:
            self._work = task.open(threads)

        return _outcome_of(load)

    def run(self, chunk: Any) -> Done | Failed:
        """Process a chunk and return its outcome."""
        if self._work is None:
            return Failed("expected a worker with its task loaded, found one without")
        return _outcome_of(partial(self._work, chunk))


def _outcome_of(do: Callable[[], Any]) -> Done | Failed:
    """The result or the error, with Rankwell's warnings meanwhile, which nobody would see on a worker."""
    logger, handler = logging.getLogger(LOGGER), BufferingHandler(sys.maxsize)
    handler.setLevel(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    outcome: Done | Failed
    try:
        outcome = Done(do())
    except RankwellError as error:
        outcome = Failed(str(error), final=True)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the caller must get it
        first = (str(error).splitlines() or [""])[0]
        outcome = Failed(f"{type(error).__name__}: {first}" if first else type(error).__name__)
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
    return replace(outcome, notes=tuple(record.getMessage() for record in handler.buffer))


Ticket = Hashable


class Crew(Protocol):
    """Workers by name. Each processes its chunks in the order of submission."""

    def hire(self, task: Task) -> dict[str, Ticket]:
        """Start all workers and have each load a task; return the tickets of loading, by worker."""

    def rehire(self, worker: str, task: Task) -> tuple[str, Ticket] | None:
        """Start a new worker in place of a lost one; None where the place is gone too."""

    def submit(self, worker: str, chunk: Any) -> Ticket:
        """Give a chunk to a worker."""

    def wait(self, seconds: float) -> Sequence[tuple[Ticket, Outcome]]:
        """The outcomes so far; empty after `seconds` without one."""

    def dismiss(self, worker: str) -> None:
        """Stop a worker and drop its chunks."""

    def threads(self, worker: str) -> int:
        """The number of threads of a worker."""

    def close(self) -> None:
        """Stop all workers."""


class InProcess:
    """Workers in this process that take turns. Work is done in `wait`."""

    def __init__(self, workers: int = 1, threads: int = 1) -> None:
        self._count, self._threads = workers, threads
        self._workers: dict[str, Worker] = {}
        self._waiting: deque[tuple[int, str, Task | None, Any]] = deque()
        self._tickets = 0
        self._named = 0

    def hire(self, task: Task) -> dict[str, Ticket]:
        """Create the workers."""
        return dict(self._hire(task) for _ in range(self._count))

    def rehire(self, worker: str, task: Task) -> tuple[str, Ticket] | None:
        """Create another worker."""
        self._workers.pop(worker, None)
        return self._hire(task)

    def submit(self, worker: str, chunk: Any) -> Ticket:
        """Add the chunk to the queue."""
        return self._put(worker, None, chunk)

    def wait(self, seconds: float) -> Sequence[tuple[Ticket, Outcome]]:  # noqa: ARG002 -- it takes as long as the work
        """Do the next work of the queue."""
        while self._waiting:
            ticket, name, task, chunk = self._waiting.popleft()
            if name in self._workers:
                return [(ticket, self.outcome(name, task, chunk))]
        return []

    def outcome(self, worker: str, task: Task | None, chunk: Any) -> Outcome:
        """The outcome of a chunk, or of loading a task."""
        one = self._workers[worker]
        return one.run(chunk) if task is None else one.open(task, self._threads, __version__)

    def dismiss(self, worker: str) -> None:
        """Forget the worker and its chunks."""
        self._workers.pop(worker, None)

    def threads(self, worker: str) -> int:  # noqa: ARG002 -- all alike
        """The same number for all workers."""
        return self._threads

    def close(self) -> None:
        """Forget all workers."""
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


@dataclass(frozen=True)
class Machine:
    """A node of the cluster, with its cores."""

    id: str
    host: str
    cores: int


@dataclass(frozen=True)
class WorkerSlot:
    """A place for one worker: machine and threads."""

    machine: Machine
    threads: int


LONGEST_REASON = 300
DEATHS = {
    "worker process has died": "its process has died (killed by somebody, or for want of memory)",
    "node has died": "its machine is gone",
}
MISSING = re.compile(r"No module named '(?P<name>[\w.]+)'")
MEMORY = "it ran out of memory (fewer threads or workers need less)"


class RayCrew:
    """Workers in places of a cluster that this process is connected to."""

    def __init__(self, ray: Any, places: Sequence[WorkerSlot]) -> None:
        self._ray = ray
        self._places = list(places)
        self._actor = ray.remote(Worker)
        self._workers: dict[str, tuple[Any, WorkerSlot]] = {}
        self._owner: dict[Any, str] = {}  # by Ray reference, in the order of submission
        self._named = 0

    def hire(self, task: Task) -> dict[str, Ticket]:
        """Start an actor in every place."""
        return dict(self._hire(place, task) for place in self._places)

    def rehire(self, worker: str, task: Task) -> tuple[str, Ticket] | None:
        """Start another actor on the same machine, if it still exists."""
        _, place = self._workers.pop(worker)
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        return self._hire(place, task) if place.machine.id in alive else None

    def submit(self, worker: str, chunk: Any) -> Ticket:
        """Send a chunk to a worker."""
        actor, _ = self._workers[worker]
        return self._given(worker, actor.run.remote(chunk))

    def wait(self, seconds: float) -> Sequence[tuple[Ticket, Outcome]]:
        """The outcomes that have arrived."""
        done, _ = self._ray.wait(list(self._owner), num_returns=1, timeout=seconds)
        return [(reference, self._outcome(reference)) for reference in done]

    def dismiss(self, worker: str) -> None:
        """Kill the worker: one that is only unreachable must not run beside its successor."""
        actor, _ = self._workers[worker]
        self._owner = {reference: owner for reference, owner in self._owner.items() if owner != worker}
        self._ray.kill(actor)

    def threads(self, worker: str) -> int:
        """The number of threads of its place."""
        return self._workers[worker][1].threads

    def close(self) -> None:
        """Stop all actors."""
        for worker in list(self._workers):
            self.dismiss(worker)
        self._workers.clear()

    def _hire(self, place: WorkerSlot, task: Task) -> tuple[str, Ticket]:
        here = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(place.machine.id, soft=False)
        actor = self._actor.options(num_cpus=place.threads, max_restarts=0, scheduling_strategy=here).remote()
        self._named += 1
        name = f"worker {self._named} on {place.machine.host}"
        self._workers[name] = (actor, place)
        return name, self._given(name, actor.open.remote(task, place.threads, __version__))

    def _given(self, worker: str, reference: Any) -> Ticket:
        self._owner[reference] = worker
        return reference  # type: ignore[no-any-return]  # Ray's references are hashable

    def _outcome(self, reference: Any) -> Outcome:
        del self._owner[reference]
        try:
            outcome: Outcome = self._ray.get(reference)
        except self._ray.exceptions.OutOfMemoryError:
            return Lost(MEMORY)
        except self._ray.exceptions.RayError as error:
            return Lost(_reason(error))
        return outcome


def _reason(error: Exception) -> str:
    """Ray's long message as one line."""
    message = " ".join(str(error).split())
    for sign, meaning in DEATHS.items():
        if sign in message:
            return meaning
    missing = MISSING.search(message)
    if missing:
        return f"expected Rankwell and what it needs on that machine too, found no module {missing['name']}"
    return message if len(message) <= LONGEST_REASON else message[:LONGEST_REASON] + "..."
