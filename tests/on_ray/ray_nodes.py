"""A real Ray cluster of several nodes on this machine, started for a test and stopped again."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from inbox import free_port
from needs import require
from waiting import wait_until

LOOPBACK = "127.0.0.2"  # of this machine alone; Ray would take 127.0.0.1 for the address by which others reach it
PATIENCE = 300  # seconds


@dataclass
class RayNodes:
    """Running nodes; each is a process whose children are Ray's own."""

    folder: Path
    environment: dict[str, str]
    port: int = field(default_factory=free_port)
    client_port: int = field(default_factory=free_port)
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"ray:address={LOOPBACK}:{self.port}"

    @property
    def client_address(self) -> str:
        return f"ray://{LOOPBACK}:{self.client_port}"

    def python(self, program: str) -> subprocess.CompletedProcess[str]:
        """Run a program that may connect to this cluster."""
        return subprocess.run(
            [sys.executable, "-c", program],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def wait_until_there(self, nodes: int) -> None:
        """All nodes know of each other, and `ray` alone means this cluster."""
        program = f"""
import time
from rankwell.ray import connected
for _ in range(60):
    with connected("ray") as cluster:
        if len(cluster.machines) == {nodes}:
            break
    time.sleep(1)
else:
    raise SystemExit(f"{{len(cluster.machines)}} nodes")
"""
        done = self.python(program)
        assert done.returncode == 0, f"{done.stderr}\n{self.said()}"

    def processes(self, title: str) -> list[int]:
        """Ray's processes of that title below the nodes of this cluster."""
        lines = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
        table = [line.split(None, 2) for line in lines.splitlines()[1:]]
        below = {node.pid for node in self.nodes}
        for _ in range(4):  # a node's process, its raylet, its workers
            below |= {int(pid) for pid, parent, *_ in table if int(parent) in below}
        return [int(pid) for pid, _, *args in table if int(pid) in below and args and title in args[0]]

    def start(self, *words: str) -> None:
        """A node of one processor that ends with its process. Two that start at once may fight for a port."""
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1", "--log-style=record"]
        command += [
            f"--node-ip-address={LOOPBACK}",
            "--disable-usage-stats",
            f"--object-store-memory={80 << 20}",
            *words,
        ]
        path = self.folder / f"node{len(self.nodes)}.log"
        with path.open("wb") as log:
            how = {"stdout": log, "stderr": log, "env": self.environment, "cwd": self.folder}
            node = subprocess.Popen(command, start_new_session=True, **how)
        self.nodes.append(node)
        started = b"Ray runtime started"
        ended_or_started = lambda: node.poll() is not None or started in path.read_bytes()  # noqa: E731 -- one line
        wait_until(ended_or_started, self.said, patience=PATIENCE, pause=0.2)
        assert node.poll() is None, self.said()

    def said(self) -> str:
        """What the nodes printed, and what the servers of clients wrote before they ended."""
        files = [
            *sorted(self.folder.glob("node*.log")),
            *self.folder.glob("ray/session_latest/logs/ray_client_server*"),
        ]
        return "\n".join(f"== {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in files)

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.send_signal(signal.SIGTERM)
        for node in self.nodes:
            with suppress(subprocess.TimeoutExpired):
                node.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
            node.wait(20)


@contextmanager
def running_ray(nodes: int, environment: dict[str, str]) -> Iterator[RayNodes]:
    """So many nodes of one processor each, which listen on loopback."""
    require("ray", there=find_spec("ray") is not None, how="pip install 'rankwell[ray]'")
    folder = Path(tempfile.mkdtemp(prefix="rw-"))  # a short name, because sockets lie below it
    # Ray listens to the whole network whatever it is told: nobody without this cluster's own token is let in.
    closed = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    plain = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "HOME": str(folder)}
    plain["RAY_TMPDIR"] = str(folder)  # where `--on ray` looks for a note that there is a cluster here
    cluster = RayNodes(folder, {**os.environ, **closed, **plain, **environment})
    try:
        head = [f"--port={cluster.port}", f"--ray-client-server-port={cluster.client_port}"]
        cluster.start("--head", *head, "--include-dashboard=false", f"--temp-dir={folder / 'ray'}")
        for _ in range(nodes - 1):
            cluster.start(f"--address={LOOPBACK}:{cluster.port}")
        cluster.wait_until_there(nodes)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
