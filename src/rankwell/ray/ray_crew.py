"""Ray actors as workers: their placement, and the check for a cluster on this machine."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from rankwell import __version__
from rankwell.core import ParameterError, RankwellError
from rankwell.ray.worker import Lost, Outcome, Task, Ticket, Worker

MOST_THREADS = 8  # most cores of one worker: beyond that a second one, with its own copy of the model, is faster


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


def places(machines: Sequence[Machine], workers: int | None = None, threads: int | None = None) -> list[WorkerSlot]:
    """The places of the given number of workers, or of as many as the machines can use well.

    The cores of a machine are shared among its workers, unless the threads of each are given.
    """
    there = [machine for machine in machines if machine.cores]
    if not there:
        raise RankwellError("expected a cluster with processors for workers, found none")
    on = _shared(there, workers) if workers else {m.id: ceil(m.cores / (threads or MOST_THREADS)) for m in there}
    found = []
    for machine in there:
        count = max(1, on[machine.id]) if workers is None else on[machine.id]
        found += [WorkerSlot(machine, min(threads or machine.cores, machine.cores // count or 1)) for _ in range(count)]
    return found


def _shared(machines: Sequence[Machine], workers: int) -> Mapping[str, int]:
    """Assign each worker to the machine with the most cores per worker."""
    together = sum(machine.cores for machine in machines)
    if workers > together:
        expected = f"a number up to {together}, as many as the cluster has processors"
        raise ParameterError("workers", expected=expected, found=workers)
    on = {machine.id: 0 for machine in machines}
    for _ in range(workers):
        best = max(machines, key=lambda machine: machine.cores / (on[machine.id] + 1))
        on[best.id] += 1
    return on


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
            found: Outcome = self._ray.get(reference)
        except self._ray.exceptions.OutOfMemoryError:
            return Lost(MEMORY)
        except self._ray.exceptions.RayError as error:
            return Lost(_reason(error))
        return found


def _reason(error: Exception) -> str:
    """Ray's long message as one line."""
    told = " ".join(str(error).split())
    for sign, meaning in DEATHS.items():
        if sign in told:
            return meaning
    missing = MISSING.search(told)
    if missing:
        return f"expected Rankwell and what it needs on that machine too, found no module {missing['name']}"
    return told if len(told) <= LONGEST_REASON else told[:LONGEST_REASON] + "..."


NOTE = Path("ray", "ray_current_cluster")
ANSWER = 5.0  # seconds for a cluster to accept a connection


def cluster_is_here() -> bool:
    """Whether Ray would join a cluster without an address.

    Only one that answers, and that this user started: Ray itself would also find other users' processes, and send them
    this user's token.
    """
    if os.environ.get("RAY_ADDRESS"):
        return True
    note = _temporary() / NOTE
    try:
        host, _, port = note.read_text(encoding="utf-8").strip().rpartition(":")
        own = not hasattr(os, "getuid") or note.stat().st_uid == os.getuid()
        return own and answers(host, int(port)) is None
    except (OSError, ValueError):
        return False


def answers(host: str, port: int) -> OSError | None:
    """The error of a connection attempt; None where somebody answers."""
    try:
        socket.create_connection((host, port), ANSWER).close()
    except OSError as error:
        return error
    return None


def _temporary() -> Path:
    """Ray's temporary folder."""
    usual = "TMPDIR" if sys.platform.startswith("linux") else ""
    return Path(os.environ.get("RAY_TMPDIR") or os.environ.get(usual) or "/tmp")  # noqa: S108 -- Ray's choice
