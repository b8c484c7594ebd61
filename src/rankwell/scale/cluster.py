"""A cluster to work on: joined, or started on this machine, and left as it was found."""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rankwell.core import MissingExtraError, RankwellError
from rankwell.encode.working import cores
from rankwell.scale.address import Address
from rankwell.scale.ray_crew import RayCrew
from rankwell.scale.ray_here import answers, cluster_is_here
from rankwell.scale.ray_places import Machine, places
from rankwell.scale.tasks import Task
from rankwell.scale.workers import AHEAD, Workers

STORE = 256 << 20  # bytes for what travels: chunks are small, and Ray would set a third of the memory aside
# Ray's way to say that a cluster is of this machine only: it then listens to 127.0.0.1 and to nobody else.
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# Seconds between tries to join: the server that a cluster starts for a client may die as it starts on a busy machine.
PAUSES = (2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster that this process is connected to."""

    address: Address
    machines: tuple[Machine, ...]
    ray: Any = field(repr=False, compare=False)

    def workers(self, task: Task, *, ahead: int = AHEAD) -> Workers:
        """Workers for a task, to be entered: `with cluster.workers(task) as workers`."""
        crew = RayCrew(self.ray, places(self.machines, self.address.workers, self.address.threads))
        return Workers(crew, task, ahead=ahead)


@contextmanager
def connected(on: str | Address | Cluster) -> Iterator[Cluster]:
    """Connect to what `--on` says; at the end leave, and stop what was started. One that is connected stays so."""
    if isinstance(on, Cluster):
        yield on
        return
    address = Address.parse(on) if isinstance(on, str) else on
    start = address.host is None and not cluster_is_here()
    ray = _ray(address, start=start)
    try:
        _connect(ray, address, start=start)
        yield Cluster(address, _machines(ray), ray)
    except SystemError as error:
        # Ctrl-C in the middle of one of Ray's calls, which wrap what the signal's handler raises.
        raise (error.__cause__ or error) from None
    finally:
        ray.shutdown()


def _ray(address: Address, *, start: bool) -> Any:
    """Ray, which sends no statistics to its makers."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if start:
        os.environ.setdefault(LOOPBACK, "0")
    try:
        ray: Any = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError as error:
        raise MissingExtraError("--on ray", extra="ray") from error
    if ray.is_initialized():
        raise RankwellError(f"{address}: expected to connect to Ray, found this program connected to one already")
    return ray


def _connect(ray: Any, address: Address, *, start: bool) -> None:
    if address.host is not None:
        _check_answers(address)
    where = _new() if start else {} if address.host is None else {"address": address.for_ray}
    try:
        _join(ray, {**where, "log_to_driver": False, "logging_level": logging.ERROR})
    except SystemError:  # Ctrl-C
        raise
    except Exception as error:  # Ray raises ConnectionError, RuntimeError, ValueError, ... for what may be wrong there
        what = "cannot be started" if start else "cannot be joined"
        raise RankwellError(f"{address}: {what}: {_words(error)}") from error


def _join(ray: Any, how: dict[str, Any]) -> None:
    """Connect, and try again where the cluster answered but could not start its server for this client."""
    for pause in PAUSES:
        try:
            ray.init(**how)
        except ConnectionError:
            time.sleep(pause)
        else:
            return
    ray.init(**how)


def _new() -> dict[str, Any]:
    """A cluster of this machine alone."""
    return {
        "address": "local",
        "num_cpus": cores(),
        "object_store_memory": STORE,
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
        "_system_config": {"worker_niceness": 0},  # the machine is ours as much as it is without Ray
    }


def _check_answers(address: Address) -> None:
    """Ray itself would try for a minute, and say much."""
    error = answers(str(address.host), int(address.port or 0))
    if error is not None:
        port = "its client server, usually 10001" if address.client else "its head node, usually 6379"
        reason = error.strerror or str(error)
        raise RankwellError(f"{address}: nobody answers there ({reason}): expected a Ray cluster, at {port}") from error


def _machines(ray: Any) -> tuple[Machine, ...]:
    return tuple(
        Machine(node["NodeID"], node["NodeManagerAddress"], int(node["Resources"].get("CPU", 0)))
        for node in ray.nodes()
        if node["Alive"]
    )


def _words(error: Exception) -> str:
    """The first cause, in one line."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return " ".join(str(error).split())[:300] or type(error).__name__
