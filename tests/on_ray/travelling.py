"""A cluster in this process whose work travels all the same: everything is packed and unpacked as Ray would."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from rankwell.ray import Cluster
from rankwell.ray.cluster import Address
from rankwell.ray.worker import InProcess, Outcome, Task
from rankwell.ray.workers import AHEAD, Workers


class TravellingCrew(InProcess):
    """Three workers who are given copies."""

    def outcome(self, worker: str, task: Task | None, chunk: Any) -> Outcome:
        found: Outcome = packed(super().outcome(worker, packed(task), packed(chunk)))
        return found


@dataclass(frozen=True)
class Here(Cluster):
    """A cluster of this process."""

    address: Address = field(default_factory=Address)
    machines: tuple[()] = ()
    ray: Any = None

    def workers(self, task: Task, *, ahead: int = AHEAD) -> Workers:
        return Workers(TravellingCrew(3), task, ahead=ahead)


def packed(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 -- our own bytes, made a moment ago
