"""The limits of connections hold for all three applications, as their commands start them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from judging.small_studies import make_study
from rankwell import Document
from rankwell.apps.web.application import LIMITS
from rankwell.index import IndexWriter
from servers import Server, started, stopped

pytestmark = pytest.mark.slow
APPLICATIONS = ("serve", "assess", "screen")


@pytest.fixture(scope="module", params=APPLICATIONS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "serve":
        with IndexWriter(folder / "index") as writer:
            writer.add(Document("d1", {"text": "fever"}))
        words = ["serve", str(folder / "index")]
    elif request.param == "assess":
        make_study(folder / "study.db").close()
        words = ["assess", "serve", str(folder / "study.db")]
    else:
        words = ["review", "screen", str(folder / "project.db"), "--title", "Colds"]
    with stopped(started([*words, "--quiet"], folder / "said")) as found:
        yield found


def plug(server: Server) -> socket.socket:
    parts = urlsplit(server.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def everything(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_large_headers_are_refused(server: Server) -> None:
    with plug(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx-long: " + b"a" * LIMITS.header_bytes + b"\r\n\r\n")
        assert everything(connection).startswith(b"HTTP/1.1 431 ")


def test_headers_without_end_are_cut_off(server: Server) -> None:
    sent = 0
    with plug(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        try:
            while sent < 5_000_000:
                connection.sendall(b"x-more: " + b"a" * 8000 + b"\r\n")
                sent += 8000
        except OSError:
            pass
    assert sent < 5_000_000


@pytest.mark.long  # it waits as long as a server does
def test_half_sent_requests_are_closed_and_others_are_answered(server: Server) -> None:
    with ExitStack() as stack:
        half = [stack.enter_context(plug(server)) for _ in range(LIMITS.most_half_open + 60)]
        for each in half:
            each.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n")
        assert [b"HTTP/1.1 408 " in everything(each) for each in half] == [True] * len(half)
        with plug(server) as visitor:
            visitor.sendall(b"GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert everything(visitor).startswith(b"HTTP/1.1 200 ")


@pytest.mark.long
def test_a_body_that_does_not_arrive_is_given_up(server: Server) -> None:
    head = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    with plug(server) as connection:
        connection.sendall(head + b"Content-Length: 100\r\n\r\na=1")
        assert everything(connection).startswith(b"HTTP/1.1 408 ")
