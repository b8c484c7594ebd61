"""Where workers live on a cluster: how many on each machine, and with how many threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from rankwell.core import ParameterError, RankwellError

MOST_THREADS = 8  # of one worker: beyond that a second one, with the model loaded again, makes better use of the cores


@dataclass(frozen=True)
class Machine:
    """A node of the cluster."""

    id: str
    host: str
    cores: int


@dataclass(frozen=True)
class Place:
    """Room for one worker."""

    machine: Machine
    threads: int


def places(machines: Sequence[Machine], workers: int | None = None, threads: int | None = None) -> list[Place]:
    """The places of so many workers, or of as many as the machines have good use for.

    The cores of a machine are shared among its workers, unless it is said how many threads each has.
    """
    there = [machine for machine in machines if machine.cores]
    if not there:
        raise RankwellError("expected a cluster with processors for workers, found none")
    on = _shared(there, workers) if workers else {m.id: ceil(m.cores / (threads or MOST_THREADS)) for m in there}
    found = []
    for machine in there:
        count = max(1, on[machine.id]) if workers is None else on[machine.id]
        found += [Place(machine, min(threads or machine.cores, machine.cores // count or 1)) for _ in range(count)]
    return found


def _shared(machines: Sequence[Machine], workers: int) -> Mapping[str, int]:
    """So many workers, each on the machine that then has the most cores for each of its own."""
    together = sum(machine.cores for machine in machines)
    if workers > together:
        expected = f"a number up to {together}, as many as the cluster has processors"
        raise ParameterError("workers", expected=expected, found=workers)
    on = {machine.id: 0 for machine in machines}
    for _ in range(workers):
        best = max(machines, key=lambda machine: machine.cores / (on[machine.id] + 1))
        on[best.id] += 1
    return on
