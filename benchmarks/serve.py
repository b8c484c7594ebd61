"""`rankwell serve` under load: requests a second, waiting times, and re-ranking beside searching.

    python benchmarks/serve.py [--documents 500000] [--seconds 10] [--model FOLDER] [--folder FOLDER]

The real server in a process of its own on loopback, on as many cores as the machine has; the load generator has the
same cores. Closed loop: wrk where it is installed, with 16 connections that ask as fast as they are answered; a client
of our own without it. Open loop: our own client, which sends at a fixed rate whatever happens and counts from the
moment at which a request was due. CPU time of the server is told beside, because other work on the machine changes it
least. MODEL is a folder with PyTorch weights (a cross-encoder, or an encoder, which is given a random head: the speed
is the same); it is run in int8.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np
import psutil

import engine_corpus
from neural import with_head
from rankwell.core import Document
from rankwell.index import Index, IndexWriter, is_index

CONNECTIONS = 16
LUA = """
local lines = {}
for line in io.lines("%s") do table.insert(lines, line) end
local at = 0
request = function() at = at %% #lines + 1; return wrk.format("GET", lines[at]) end
"""


@dataclass
class Times:
    """Seconds that requests took, and how many were turned away."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0

    def __str__(self) -> str:
        if not self.seconds:
            return f"none answered, {self.refused:,} refused"
        middle, late, latest = 1000 * np.quantile(self.seconds, [0.5, 0.99, 1])
        refused = f", {self.refused:,} refused" if self.refused else ""
        return f"p50 {middle:.1f} ms, p99 {late:.1f} ms, longest {latest:.0f} ms of {len(self.seconds):,}{refused}"


class Client:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> int:
        """Ask, read all of the answer; its status, 0 where the connection broke."""
        try:
            return await self._get(path)
        except (ConnectionError, asyncio.IncompleteReadError):
            self._streams = None
            return 0

    async def _get(self, path: str) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if found := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
            await reader.readexactly(int(found[1]))
        else:
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + 2)
            await reader.readline()
        return int(head[9:12])


async def closed_loop(port: int, path: Callable[[], str], clients: int, seconds: float) -> Times:
    """So many clients, each asking again as soon as it is answered."""
    times, end = Times(), time.perf_counter() + seconds

    async def work() -> None:
        client = Client(port)
        while (begun := time.perf_counter()) < end:
            if await client.get(path()) == 200:
                times.seconds.append(time.perf_counter() - begun)
            else:
                times.refused += 1
                await asyncio.sleep(0.1)

    await asyncio.gather(*(work() for _ in range(clients)))
    return times


async def open_loop(port: int, path: Callable[[], str], rate: float, seconds: float) -> Times:
    """Requests at a fixed rate; a late answer does not make the next one later."""
    times, idle, tasks = Times(), [Client(port) for _ in range(CONNECTIONS)], set[asyncio.Task[None]]()
    start = time.perf_counter()

    async def ask(due: float) -> None:
        client = idle.pop() if idle else Client(port)
        status = await client.get(path())
        idle.append(client)
        if status == 200:
            times.seconds.append(time.perf_counter() - due)
        else:
            times.refused += 1

    for number in range(round(rate * seconds)):
        due = start + number / rate
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        task = asyncio.create_task(ask(due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    return times


@dataclass
class Server:
    """A server that runs."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return sum(psutil.Process(self.process.pid).cpu_times()[:2])

    def tell(self, what: str, load: Coroutine[None, None, Times]) -> None:
        """Print what a load met."""
        before = self.cpu()
        times = asyncio.run(load)
        each = 1000 * (self.cpu() - before) / max(len(times.seconds) + times.refused, 1)
        print(f"{what}: {times}; {each:.2f} ms of CPU in the server each")


def fastest(server: Server, paths: list[str], seconds: int, scratch: Path) -> float:
    """Requests a second when asked as fast as they are answered."""
    port, before = server.port, server.cpu()
    if shutil.which("wrk") is None:
        print("wrk is not installed: the closed loop is our own client's")
        found = asyncio.run(closed_loop(port, lambda: random.choice(paths), CONNECTIONS, seconds))  # noqa: S311
        print(f"closed loop, {CONNECTIONS} connections: {len(found.seconds) / seconds:,.0f} requests/s; {found}")
        return len(found.seconds) / seconds
    (scratch / "paths").write_text("\n".join(paths))
    (scratch / "wrk.lua").write_text(LUA % (scratch / "paths"))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(scratch / "wrk.lua")]
    told = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1])
    quantiles = ", ".join(f"p{name} {value}" for name, value in re.findall(r"(50|99)%\s+(\S+)", told))
    errors = "".join(f"; {line.strip()}" for line in told.splitlines() if "Non-2xx" in line or "Socket errors" in line)
    each = 1000 * (server.cpu() - before) / (rate * seconds)
    print(
        f"closed loop, {CONNECTIONS} connections (wrk): {rate:,.0f} requests/s; {quantiles}{errors}; "
        f"{each:.2f} ms of CPU in the server each"
    )
    return rate


async def beside(port: int, search: Callable[[], str], rerank: Callable[[], str], rate: float, clients: int) -> None:
    """Searches at a fixed rate, while some clients have 50 candidates re-ranked as fast as they are."""
    seconds = 10.0
    searches, reranks = await asyncio.gather(
        open_loop(port, search, rate, seconds), closed_loop(port, rerank, clients, seconds)
    )
    print(f"{clients} re-ranking 50 candidates: {reranks}")
    print(f"  beside them BM25 at {rate:,.0f} requests/s: {searches}")


@contextlib.contextmanager
def served(words: list[str]) -> Iterator[Server]:
    """The server, when it is ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "rankwell", "serve", *words, "--port", str(port), "--quiet"]
    process = subprocess.Popen(command)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/ready"):
                break
            time.sleep(0.1)
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait()


def make_index(folder: Path, corpus: engine_corpus.Corpus) -> Index:
    """An index of the corpus, made once."""
    path = folder / f"index-{corpus.facts['documents']}"
    if not is_index(path):
        with IndexWriter(path) as writer:
            writer.add_all(Document(docno, {"text": text}) for docno, text in engine_corpus.texts(corpus))
            writer.merge()
    return Index.open(path)


def measure(folder: Path, scratch: Path, documents: int, seconds: int, model: Path) -> None:
    """Everything, and print."""
    corpus = engine_corpus.make(folder, documents, 1000)
    index = make_index(folder, corpus)
    words = [quote(query) for query in corpus.queries]
    shown = [f"/api/search?q={query}&k=10&rerank=none" for query in words]
    searches = [f"{path}&fields=&snippets=false" for path in shown]

    def search() -> str:
        return random.choice(searches)  # noqa: S311 -- no secret

    def page() -> str:
        return f"/?q={random.choice(words)}&rerank=none"  # noqa: S311

    fresh = iter(range(1 << 60))

    def rerank() -> str:  # with a number in it, so that no pair was ever scored before
        query = f"{random.choice(words)}%20{next(fresh)}"  # noqa: S311
        return f"/api/search?q={query}&k=10&depth=50&precision=int8&snippets=false"

    print(f"{len(index):,} documents, {os.cpu_count()} cores, load of the machine before {os.getloadavg()[0]:.1f}")
    with served([str(index.path), "--rerank", str(with_head(model, scratch)), "--no-judgments"]) as server:
        port = server.port
        asyncio.run(closed_loop(port, search, 4, 2))
        asyncio.run(closed_loop(port, rerank, 1, 2))
        asyncio.run(closed_loop(port, page, 1, 1))
        print("BM25 top 10 with texts and highlighted snippets, ", end="")
        fastest(server, shown, seconds, scratch)
        print("BM25 top 10, ids and scores, ", end="")
        rate = fastest(server, searches, seconds, scratch)
        server.tell(f"open loop at {rate / 2:,.0f} a second, half of that", open_loop(port, search, rate / 2, seconds))
        server.tell("open loop at 500 a second", open_loop(port, search, 500, seconds))
        server.tell("the page with its first results, 10 a second", open_loop(port, page, 10, seconds))
        server.tell("re-ranking 50 candidates, alone", closed_loop(port, rerank, 1, seconds))
        for rate, clients in ((100, 1), (500, 1), (100, 40)):
            asyncio.run(beside(port, search, rerank, rate, clients))
    print(f"load of the machine after {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--documents", type=int, default=500_000)
    options.add_argument("--seconds", type=int, default=10)
    options.add_argument("--folder", type=Path, help="keep corpus and index here")
    options.add_argument("--model", type=Path, required=True, help="a folder with a model of three layers")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(given.folder or Path(scratch), Path(scratch), given.documents, given.seconds, given.model)


if __name__ == "__main__":
    main()
