"""A cluster in this process whose work travels all the same: everything is packed and unpacked as Ray would."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from rankwell.scale import Cluster, Task, Workers
from rankwell.scale.address import Address
from rankwell.scale.in_process import InProcess
from rankwell.scale.outcomes import Outcome
from rankwell.scale.workers import AHEAD


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
