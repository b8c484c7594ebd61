"""A crew on Ray: each worker is an actor, a process of its own that stays from chunk to chunk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rankwell import __version__
from rankwell.scale.crew import Ticket
from rankwell.scale.outcomes import Lost, Outcome
from rankwell.scale.ray_places import Place
from rankwell.scale.tasks import Task
from rankwell.scale.worker import Worker

LONGEST_REASON = 300
DEATHS = {
    "worker process has died": "its process has died (killed by somebody, or for want of memory)",
    "node has died": "its machine is gone",
}
MISSING = re.compile(r"No module named '(?P<name>[\w.]+)'")
MEMORY = "it ran out of memory (fewer threads or workers need less)"


class RayCrew:
    """Workers in places of a cluster that this process is connected to."""

    def __init__(self, ray: Any, places: Sequence[Place]) -> None:
        self._ray = ray
        self._places = list(places)
        self._actor = ray.remote(Worker)
        self._workers: dict[str, tuple[Any, Place]] = {}
        self._owner: dict[Any, str] = {}  # by reference, in the order in which they were given out
        self._named = 0

    def hire(self, task: Task) -> dict[str, Ticket]:
        """An actor in every place."""
        return dict(self._hire(place, task) for place in self._places)

    def rehire(self, worker: str, task: Task) -> tuple[str, Ticket] | None:
        """Another actor on the same machine, if that is still there."""
        _, place = self._workers.pop(worker)
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        return self._hire(place, task) if place.machine.id in alive else None

    def submit(self, worker: str, chunk: Any) -> Ticket:
        """Send a chunk."""
        actor, _ = self._workers[worker]
        return self._given(worker, actor.run.remote(chunk))

    def wait(self, seconds: float) -> Sequence[tuple[Ticket, Outcome]]:
        """What has come back."""
        done, _ = self._ray.wait(list(self._owner), num_returns=1, timeout=seconds)
        return [(reference, self._outcome(reference)) for reference in done]

    def dismiss(self, worker: str) -> None:
        """Make sure that it is gone: one that is only out of reach must not go on beside its successor."""
        actor, _ = self._workers[worker]
        self._owner = {reference: owner for reference, owner in self._owner.items() if owner != worker}
        self._ray.kill(actor)

    def threads(self, worker: str) -> int:
        """As many as its place has."""
        return self._workers[worker][1].threads

    def close(self) -> None:
        """End the actors."""
        for worker in list(self._workers):
            self.dismiss(worker)
        self._workers.clear()

    def _hire(self, place: Place, task: Task) -> tuple[str, Ticket]:
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
    """Ray's many lines as one."""
    told = " ".join(str(error).split())
    for sign, meaning in DEATHS.items():
        if sign in told:
            return meaning
    missing = MISSING.search(told)
    if missing:
        return f"expected Rankwell and what it needs on that machine too, found no module {missing['name']}"
    return told if len(told) <= LONGEST_REASON else told[:LONGEST_REASON] + "..."
