"""A real server under everything that clients do to one: /health answers throughout, and all is well afterwards."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from needs import require
from rankwell import Document
from rankwell.apps.search.access import Keys
from rankwell.index import IndexWriter
from rankwell.vectors.search import warm
from servers import Server, started, stopped
from waiting import wait_until

pytestmark = pytest.mark.slow
WORDS = ("fever", "cough", "zinc", "rest", "virus", "child", "dose", "trial", "blood", "sleep")
SEARCH = "/api/search?q=fever+child&rerank=none"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[tuple[Server, str]]:
    """A server with 2,000 documents and a real cross-encoder, and a key to write with."""
    model = models / "ms-marco-minilm-l12"
    require("models", there=model.is_dir(), how="run `make setup`, or `rankwell models add ms-marco-minilm-l12`")
    folder = tmp_path_factory.mktemp("storms")
    with IndexWriter(folder / "index") as writer:
        for number in range(2000):
            text = " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 40))
            writer.add(Document(f"d{number}", {"text": f"{text} {number}"}))
    key = Keys(folder / "keys.json").add("tests", "write")
    words = ["serve", str(folder / "index"), "--rerank", str(model), "--keys", str(folder / "keys.json"), "--quiet"]
    home = tmp_path_factory.getbasetemp() / "home"
    with pytest.MonkeyPatch.context() as patch:  # the server finds kernels that are compiled, like one that restarts
        patch.setenv("RANKWELL_HOME", str(home))
        warm()
    with stopped(started(words, folder / "said", RANKWELL_HOME=str(home))) as server:
        for path in ("/ready", SEARCH, "/api/search?q=fever&depth=2"):
            wait_until(lambda path=path: ask(server, path)[0] == 200, f"{path} is answered", pause=0.5)
        yield server, key


def ask(server: Server, path: str, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=120)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def plug(server: Server) -> socket.socket:
    parts = urlsplit(server.url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=120)


def reading(server: Server, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", ask(server, "/metrics")[1].decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def results(server: Server) -> list[str]:
    status, answer = ask(server, SEARCH)
    assert status == 200, answer
    return [result["id"] for result in json.loads(answer)["results"]]


@contextmanager
def healthy(server: Server) -> Iterator[None]:
    """While the block runs, /health answers every time; afterwards searches give what they gave before.

    How long requests wait beside others is measured by `benchmarks/serve.py`.
    """
    before = results(server)
    done, answers, wrong = threading.Event(), list[int](), list[OSError]()

    def watch() -> None:
        while not done.wait(0.02):
            try:
                answers.append(ask(server, "/health")[0])
            except OSError as error:
                wrong.append(error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert not wrong
    assert len(answers) > 1  # the last may have come when the block was over
    assert set(answers) == {200}
    assert results(server) == before
    assert server.process.poll() is None


def test_clients_that_drip_hold_nobody_up(served: tuple[Server, str]) -> None:
    server, _ = served
    head = b"GET /api/search?q=fever HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
    body = (
        b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    )
    with ExitStack() as stack, healthy(server):
        sockets = [stack.enter_context(plug(server)) for _ in range(200)]
        for number, each in enumerate(sockets):
            each.sendall(head if number % 2 else body)
        for _ in range(8):
            time.sleep(0.5)
            for each in sockets:
                try:
                    each.send(b" ")
                except OSError:  # the server has had enough of it
                    sockets.remove(each)
            assert results(server)
    until_free(server)


def test_five_hundred_connections_at_once_are_answered_or_turned_away(served: tuple[Server, str]) -> None:
    server, _ = served
    with healthy(server):
        for _ in range(3):
            with ExitStack() as stack:
                sockets = [stack.enter_context(plug(server)) for _ in range(500)]
                for each in sockets:
                    each.sendall(f"GET {SEARCH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
                statuses = [int(each.makefile("rb").readline().split()[1]) for each in sockets]
            assert set(statuses) <= {200, 503}
            assert statuses.count(200) >= 10
    until_free(server)


@pytest.mark.parametrize("chunked", [False, True], ids=["its length told", "its length not told"])
def test_a_hundred_megabytes_are_refused_and_not_kept(served: tuple[Server, str], chunked: bool) -> None:
    server, key = served
    before = reading(server, "rankwell_memory_bytes")
    how = "Transfer-Encoding: chunked" if chunked else "Content-Length: 100000000"
    head = f"POST /api/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n{how}\r\n"
    with plug(server) as connection, healthy(server):
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        part = b"x" * 65_536
        sent = 0
        try:
            while sent < 100_000_000:
                connection.sendall(b"10000\r\n" + part + b"\r\n" if chunked else part)
                sent += len(part)
        except OSError:  # it does not listen any more
            pass
        try:
            answer = connection.recv(65_536)
        except ConnectionResetError:
            answer = b""
        time.sleep(0.3)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert reading(server, "rankwell_memory_bytes") < before + 80_000_000
    assert ask(server, SEARCH)[0] == 200


def test_a_storm_of_re_ranking_sheds_what_it_cannot_do(served: tuple[Server, str]) -> None:
    server, _ = served
    shed = threading.Event()

    def storm(number: int) -> list[tuple[int, bytes]]:
        found = []
        for turn in range(2):
            path = f"/api/search?q=fever+{number}+{turn}&depth=100&timeout=3"
            found.append(ask(server, path))
            if found[-1][0] == 503:
                shed.set()
        return found

    with ThreadPoolExecutor(60) as pool, healthy(server):
        answers = [answer for each in pool.map(storm, range(60)) for answer in each]
    statuses = [status for status, _ in answers]
    assert set(statuses) <= {200, 503}
    assert 200 in statuses
    assert 503 in statuses
    until_free(server)
    status, answer = ask(server, "/api/search?q=cough&depth=5")
    assert status == 200
    assert json.loads(answer)["stage"] == "reranked"


def test_a_refusal_says_when_to_come_again(served: tuple[Server, str]) -> None:
    server, _ = served

    def refused(number: int) -> str | None:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=120)
        connection.request("GET", f"/api/search?q=zinc+{number}&depth=200&timeout=2")
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.getheader("retry-after") if response.status == 503 else None

    with ThreadPoolExecutor(50) as pool:
        told = [wait for wait in pool.map(refused, range(50)) if wait is not None]
    assert told
    assert all(1 <= int(wait) <= 3600 for wait in told)
    until_free(server)


def test_clients_that_leave_cost_nothing_more(served: tuple[Server, str]) -> None:
    server, _ = served
    begun = reading(server, "rankwell_rerank_pairs_total")
    with healthy(server):
        for number in range(20):
            with plug(server) as connection:
                path = f"/api/search?q=sleep+{number}&depth=200&timeout=10"
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                time.sleep(0.05)
        until_free(server)
        before, now = -1.0, reading(server, "rankwell_rerank_pairs_total")
        while before != now:  # the slice that ran when they left
            time.sleep(1)
            before, now = now, reading(server, "rankwell_rerank_pairs_total")
        assert now - begun < 20 * 200 / 4


def test_documents_are_added_while_everybody_searches(served: tuple[Server, str]) -> None:
    server, key = served
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def add(number: int) -> int:
        body = json.dumps({"fields": {"text": "a new document"}})
        return ask(server, f"/api/documents/new-{number}", "PUT", body, **headers)[0]

    with ThreadPoolExecutor(24) as pool, healthy(server):
        searches = pool.map(lambda _: ask(server, SEARCH)[0], range(200))
        assert set(pool.map(add, range(100))) == {201}
        assert set(searches) <= {200, 503}
    found = json.loads(ask(server, "/api/search?q=new&k=200&rerank=none")[1])["results"]
    assert {result["id"] for result in found} == {f"new-{number}" for number in range(100)}


def until_free(server: Server) -> None:
    """Nobody waits any more."""
    queues = ("rankwell_rerank_waiting", "rankwell_searches_waiting")
    wait_until(lambda: not any(reading(server, name) for name in queues), "nobody waits any more", pause=0.1)
