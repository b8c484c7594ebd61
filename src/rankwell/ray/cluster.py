"""The place of the work: parse `--on`, and join a Ray cluster or start one on this machine."""

from __future__ import annotations

import importlib
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

from rankwell.core import SILENT, MissingExtraError, ParameterError, Progress, RankwellError
from rankwell.core.plugins import Plugins
from rankwell.models.base.runtime import cores
from rankwell.ray.worker import InProcess, Machine, RayCrew, Task, Work, WorkerSlot
from rankwell.ray.workers import AHEAD, Workers

EXPECTED = "ray, ray:address=HOST:PORT,workers=N,threads=N or ray://HOST:PORT?workers=N&threads=N"
NUMBERS = ("workers", "threads")
# The parser of each kind of address: a function of (text, threads, workers) that returns a `WorkerAddress`.
WORKERS = Plugins("rankwell.workers", {"ray": "rankwell.ray.cluster:Address.parse"})


class Machines(Protocol):
    """Machines that this process is connected to."""

    def workers(self, task: Task, *, ahead: int = AHEAD) -> Workers:
        """Workers for a task, as a context manager: `with machines.workers(task) as workers`."""


@runtime_checkable
class WorkerAddress(Protocol):
    """The parsed value of `--on`."""

    def connect(self) -> AbstractContextManager[Machines]:
        """Connect to the machines; at the end disconnect, and stop what was started."""


On = str | WorkerAddress | Machines


def worker_address(on: str, threads: int | None = None, workers: int | None = None) -> WorkerAddress:
    """Parse `--on`; `threads` and `workers` are its defaults."""
    kind = on.partition(":")[0]
    if kind not in WORKERS:
        others = [f"{name}:..." for name in WORKERS if name != "ray"]
        raise ParameterError("--on", expected=" or ".join([EXPECTED, *others]), found=on)
    address: WorkerAddress = WORKERS[kind](on, threads, workers)
    return address


@dataclass(frozen=True)
class Address:
    """A Ray cluster, and how much of it to use.

    `host` and `port` are None for the cluster of this machine, which is started if needed. `client`: through
    Ray's client server (`ray://`), for a machine outside the cluster. Without `workers` there is one
    per eight cores (or fewer) of each machine; without `threads` they share the machine's cores.
    """

    host: str | None = None
    port: int | None = None
    client: bool = False
    workers: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(name, expected="a number from 1", found=value)

    def __str__(self) -> str:
        if self.host is None:
            return "ray"
        return f"{'ray://' if self.client else 'ray:address='}{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, threads: int | None = None, workers: int | None = None) -> Address:
        """Parse `ray`, `ray:address=127.0.0.1:6379,workers=3` or `ray://head:10001?workers=3`."""
        address = cls._parsed(text)
        return replace(address, threads=address.threads or threads, workers=address.workers or workers)

    @contextmanager
    def connect(self) -> Iterator[Cluster]:
        """Join the cluster, or start one; at the end disconnect, and stop what was started."""
        start = self.host is None and not cluster_is_here()
        ray = _ray(self, start=start)
        try:
            _connect(ray, self, start=start)
            nodes = [node for node in ray.nodes() if node["Alive"]]
            places = ((n["NodeID"], n["NodeManagerAddress"], int(n["Resources"].get("CPU", 0))) for n in nodes)
            yield Cluster(self, tuple(Machine(*place) for place in places), ray)
        except SystemError as error:
            # Ctrl-C during a call of Ray, which wraps the exception of the signal handler.
            raise (error.__cause__ or error) from None
        finally:
            ray.shutdown()

    @classmethod
    def _parsed(cls, text: str) -> Address:
        if text == "ray":
            return cls()
        if text.startswith("ray://"):
            parts = urlsplit(text)
            if parts.path.strip("/") or parts.username is not None:
                raise ParameterError("--on", expected=EXPECTED, found=text)
            return cls._made(text, parts.netloc, dict(parse_qsl(parts.query, keep_blank_values=True)), client=True)
        if text.startswith("ray:"):
            pairs = (part.partition("=") for part in text.removeprefix("ray:").split(","))
            options = {name.strip(): value.strip() for name, _, value in pairs}
            return cls._made(text, options.pop("address", None), options, client=False)
        raise ParameterError("--on", expected=EXPECTED, found=text)

    @classmethod
    def _made(cls, text: str, place: str | None, options: dict[str, str], *, client: bool) -> Address:
        host, _, port = (place or "").rpartition(":")
        right = bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16
        strange = [name for name, value in options.items() if name not in NUMBERS or not value.isdecimal()]
        if strange or not (right or (place is None and not client)):
            raise ParameterError("--on", expected=EXPECTED, found=text)
        numbers = {name: int(value) for name, value in options.items()}
        return cls(host if right else None, int(port) if right else None, client=client, **numbers)


STORE = 256 << 20  # bytes of the object store: chunks are small, and Ray would reserve a third of the memory
# Ray's setting for a cluster of this machine only: it then listens on 127.0.0.1 alone.
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# Seconds between attempts to join: on a busy machine the server that a cluster starts for a client may die at once.
PAUSES = (2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster that this process is connected to."""

    address: Address
    machines: tuple[Machine, ...]
    ray: Any = field(repr=False, compare=False)

    def workers(self, task: Task, *, ahead: int = AHEAD) -> Workers:
        """Workers for a task, as a context manager: `with cluster.workers(task) as workers`."""
        crew = RayCrew(self.ray, places(self.machines, self.address.workers, self.address.threads))
        return Workers(crew, task, ahead=ahead)


MOST_THREADS = 8  # most cores of one worker: beyond that a second one, with its own copy of the model, is faster


def places(machines: Sequence[Machine], workers: int | None = None, threads: int | None = None) -> list[WorkerSlot]:
    """The places of the given number of workers, or of as many as the machines can use well.

    The cores of a machine are shared among its workers, unless the threads of each are given.
    """
    there = [machine for machine in machines if machine.cores]
    if not there:
        raise RankwellError("expected a cluster with processors for workers, found none")
    on = _shared(there, workers) if workers else {m.id: ceil(m.cores / (threads or MOST_THREADS)) for m in there}
    slots = []
    for machine in there:
        count = max(1, on[machine.id]) if workers is None else on[machine.id]
        slots += [WorkerSlot(machine, min(threads or machine.cores, machine.cores // count or 1)) for _ in range(count)]
    return slots


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


@contextmanager
def connected(on: On) -> Iterator[Machines]:
    """Connect to the machines of `--on`; connected ones are used unchanged."""
    where = worker_address(on) if isinstance(on, str) else on
    if not isinstance(where, WorkerAddress):
        yield where
        return
    with where.connect() as machines:
        yield machines


def _ray(address: Address, *, start: bool) -> Any:
    """Import Ray, with its usage statistics switched off."""
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
    where: dict[str, Any] = {}
    if start:  # a cluster on this machine alone
        where = {"address": "local", "num_cpus": cores(), "object_store_memory": STORE, "include_dashboard": False}
        # It uses the whole machine, as without Ray.
        where |= {"_node_ip_address": "127.0.0.1", "_system_config": {"worker_niceness": 0}}
    elif address.host is not None:
        # Ray itself would try for a minute, with many messages.
        error = answers(address.host, int(address.port or 0))
        if error is not None:
            port = "its client server, usually 10001" if address.client else "its head node, usually 6379"
            expected = f"nobody answers there ({error.strerror or error}): expected a Ray cluster, at {port}"
            raise RankwellError(f"{address}: {expected}") from error
        where = {"address": f"{'ray://' if address.client else ''}{address.host}:{address.port}"}
    try:
        _join(ray, {**where, "log_to_driver": False, "logging_level": logging.ERROR})
    except SystemError:  # Ctrl-C
        raise
    except Exception as error:  # Ray raises ConnectionError, RuntimeError, ValueError, ... for connection problems
        what = "cannot be started" if start else "cannot be joined"
        root: BaseException = error
        while isinstance(root.__cause__, Exception):
            root = root.__cause__
        reason = " ".join(str(root).split())[:300] or type(root).__name__
        raise RankwellError(f"{address}: {what}: {reason}") from error


def _join(ray: Any, how: dict[str, Any]) -> None:
    """Connect, and retry where the cluster answered but could not start its server for this client."""
    for pause in PAUSES:
        try:
            ray.init(**how)
        except ConnectionError:
            time.sleep(pause)
        else:
            return
    ray.init(**how)


Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Function:
    """A plain function as a task."""

    function: Callable[[Any], Any]

    def open(self, threads: int) -> Work:  # noqa: ARG002 -- a function sets its own threads
        """Return the function; there is nothing to load."""
        return self.function

    def describe(self, chunk: Any) -> str:
        """The chunk's repr, truncated."""
        text = repr(chunk)
        return text if len(text) <= 60 else text[:60] + "..."  # noqa: PLR2004 -- enough to recognise it


def map_chunks(
    function: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    *,
    on: str | None = None,
    workers: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[Result]:
    """The function's result for each chunk, in the order of the chunks.

    `on` is the value of `--on` (`workers` if it has no number); without it everything runs in this process. A
    chunk of a lost worker is given to another one; one that fails three times, or raises a RankwellError, ends it
    with an error that names the chunk.
    """
    with ExitStack() as stack:
        task = Function(function)
        if on is None:
            crew = stack.enter_context(Workers(InProcess(), task))
        else:
            machines = stack.enter_context(connected(worker_address(on, workers=workers)))
            crew = stack.enter_context(machines.workers(task))
        yield from in_order(crew.map(chunks), progress)


def in_order(finished: Iterable[tuple[int, Result]], progress: Progress = SILENT) -> Iterator[Result]:
    """Numbered results in the order of their numbers; early ones wait."""
    early: dict[int, Result] = {}
    following = 0
    for number, result in finished:
        progress.advance()
        early[number] = result
        while following in early:
            yield early.pop(following)
            following += 1
