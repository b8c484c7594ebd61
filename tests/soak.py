"""A server that is written to and searched all the time, while clients are killed: for tests, and for an hour.

`benchmarks/serve_soak.py` runs the same for as long as one likes.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from rankwell.apps.search.access import Keys
from rankwell.core import Document
from rankwell.index import IndexWriter
from servers import Server, started, stopped
from waiting import wait_until

WORDS = ("fever", "cough", "zinc", "rest", "virus", "child", "dose", "trial", "blood", "sleep")
OWN = 200  # documents of each writer, written again and again: the index stays of one size
BATCH = 50
BUSY = 503


@dataclass(frozen=True)
class Sample:
    """What the server said of itself."""

    second: float
    memory: float  # bytes
    descriptors: int
    commit: int
    documents: int


@dataclass
class Soaked:
    """What happened."""

    acknowledged: int = 0
    searches: int = 0
    killed: int = 0
    refused: list[str] = field(default_factory=list)  # changes that were not acknowledged
    unseen: list[str] = field(default_factory=list)  # acknowledged, and not seen by the next request
    samples: list[Sample] = field(default_factory=list)
    said: str = ""


Job = Callable[["Client", str, int, Soaked], None]


def soak(folder: Path, seconds: float, *, descriptors: int = 256, model: str | None = None, **extra: str) -> Soaked:
    """Write, search and kill clients for so long, at a server that may have so many open files."""
    with IndexWriter(folder / "index", metadata=["year"]) as writer:
        writer.add_all(_document(f"old-{number}", number) for number in range(500))
    key = Keys(folder / "keys.json").add("soak", "write")
    words = ["serve", str(folder / "index"), "--keys", str(folder / "keys.json"), "--quiet"]
    words += ["--rerank", model] if model else []
    done = Soaked()
    with stopped(started(words, folder / "said", descriptors=descriptors, **extra)) as server:
        with closing(Client(server, key)) as client:
            wait_until(lambda: client.ask("GET", "/ready")[0] == 200, server.words, pause=0.2)
        end = time.monotonic() + seconds
        work: list[Job] = [_write, _write, _write, _search, _search, _kill_clients, _watch]
        with ExitStack() as stack, ThreadPoolExecutor(len(work)) as pool:
            clients = [stack.enter_context(closing(Client(server, key))) for _ in work]
            jobs = [
                pool.submit(_until, end, job, client, f"w{number}", done)
                for number, (job, client) in enumerate(zip(work, clients, strict=True))
            ]
        for job in jobs:
            job.result()
    done.said = server.words()
    return done


class Client:
    """One connection to the server, opened again when it was closed."""

    def __init__(self, server: Server, key: str) -> None:
        self.address = urlsplit(server.url).netloc
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection(self.address, timeout=120)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return 0, repr(error).encode()

    def close(self) -> None:
        self._connection.close()

    def find(self, word: str) -> list[str]:
        """The ids of the documents with a word; a search that was turned away is sent again."""
        while True:
            status, body = self.ask("GET", f"/api/search?q={word}&rerank=none&fields=")
            if status == 200:
                return [row["id"] for row in json.loads(body)["results"]]
            assert status == BUSY, body


def _until(end: float, job: Job, client: Client, name: str, done: Soaked) -> None:
    for number in itertools.count():
        if time.monotonic() > end:
            return
        job(client, name, number, done)


def _document(docno: str, number: int, more: str = "") -> Document:
    text = " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 60))
    return Document(docno, {"title": f"Number {number}", "text": f"{text} {more}"}, {"year": 1950 + number % 70})


def _write(client: Client, name: str, number: int, done: Soaked) -> None:
    """One document, or a batch, or a deletion; then a search that must show it."""
    docno, word = f"{name}-{number % OWN}", f"{name}x{number}"
    made = _document(docno, number, word)
    status, body = client.ask("PUT", f"/api/documents/{docno}", {"fields": made.fields, "metadata": made.metadata})
    if _is_kept(done, status, body) and (found := client.find(word)) != [docno]:
        done.unseen.append(f"{word}: {found}")
    if number % 20 == 19:
        batch = [_document(f"{name}-{place}", number + place, f"batch{word}") for place in range(BATCH)]
        status, body = client.ask("POST", "/api/documents", {"documents": [one._asdict() for one in batch]})
        if _is_kept(done, status, body) and not client.find(f"batch{word}"):
            done.unseen.append(f"batch{word}")
    if number % 7 == 6:
        status, body = client.ask("DELETE", f"/api/documents/{docno}")
        if _is_kept(done, status, body) and (found := client.find(word)):
            done.unseen.append(f"deleted {word}: {found}")


def _is_kept(done: Soaked, status: int, body: bytes) -> bool:
    if status in (200, 201):
        done.acknowledged += 1
        return True
    done.refused.append(f"{status} {body[:200]!r}")
    return False


def _search(client: Client, name: str, number: int, done: Soaked) -> None:  # noqa: ARG001 -- as `_write`
    words = "+".join(random.choices(WORDS, k=2))  # noqa: S311 -- load, not a secret
    paths = (f"/api/search?q={words}&facets=year&k=20", f"/?q={words}&from.year=1980", f"/api/search/stream?q={words}")
    done.searches += client.ask("GET", paths[number % len(paths)])[0] == 200


def _kill_clients(client: Client, name: str, number: int, done: Soaked) -> None:  # noqa: ARG001 -- as `_write`
    """A client that goes away in the middle of its request, or before the answer."""
    host, _, port = client.address.partition(":")
    request = b"GET /api/search?q=fever+child&k=100 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request if number % 2 else request[:40])
    done.killed += 1
    time.sleep(0.02)


def _watch(client: Client, name: str, number: int, done: Soaked) -> None:  # noqa: ARG001 -- as `_write`
    status, body = client.ask("GET", "/metrics")
    if status == 200:
        read = {
            sample.name: sample.value
            for family in text_string_to_metric_families(body.decode())
            for sample in family.samples
        }
        names = ("memory_bytes", "descriptors", "index_commit", "documents")
        memory, *counts = (read[f"rankwell_{name}"] for name in names)
        done.samples.append(Sample(time.monotonic(), memory, *map(int, counts)))
    time.sleep(1)
