"""Slow, half-sent and oversized requests cost little: on a server of the kind that all three applications use."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection

import pytest
import uvicorn
from fastapi import Request
from starlette.responses import PlainTextResponse, Response

from rankwell.apps.web import Pages, Sessions
from rankwell.apps.web.application import new_application, server_settings
from rankwell.apps.web.connections import Limits
from rankwell.apps.web.middleware import Bodies
from waiting import wait_until

pytestmark = pytest.mark.slow
QUICK = Limits(header_bytes=4096, header_seconds=0.4, body_seconds=1.5, most_half_open=5, patience=0.2)


def application() -> object:
    pages = Pages(Sessions(b"k" * 32, name="test", secure=False), templates=[], static=[])
    app = new_application("test", pages)

    @app.get("/whoami")
    def whoami(request: Request) -> Response:
        return PlainTextResponse(request.client.host if request.client else "nobody")

    return app


@contextmanager
def serving(limits: Limits = QUICK) -> Iterator[int]:
    """A server in a thread of this process; gives its port."""
    server = uvicorn.Server(server_settings(application(), host="127.0.0.1", port=0, limits=limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, lambda: "the server did not start", pause=0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def plug(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def everything(connection: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_headers_that_do_not_end_are_cut_off() -> None:
    with serving() as port, plug(port) as connection:
        connection.sendall(b"GET /whoami HTTP/1.1\r\nHost: x\r\n")
        assert everything(connection).startswith(b"HTTP/1.1 408 ")


def test_a_connection_without_a_byte_is_closed() -> None:
    with serving() as port, plug(port) as connection:
        assert everything(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("piece", [b"x-more: %s\r\n" % (b"y" * 990), b"y" * 1000])
def test_large_headers_are_refused_before_they_end(piece: bytes) -> None:
    with serving(Limits(header_bytes=4096)) as port, plug(port) as connection:
        connection.sendall(b"GET /whoami HTTP/1.1\r\nHost: x\r\nx-long: a")
        sent = 0
        try:
            while sent < 30_000:
                connection.sendall(piece)
                sent += 1
        except OSError:
            pass
        assert sent < 30_000
    with serving(Limits(header_bytes=4096)) as port, plug(port) as connection:
        connection.sendall(b"GET /whoami HTTP/1.1\r\nHost: x\r\nx-long: " + b"a" * 5000 + b"\r\n\r\n")
        assert everything(connection).startswith(b"HTTP/1.1 431 ")


def test_a_long_address_is_refused_as_well() -> None:
    with serving() as port, plug(port) as connection:
        connection.sendall(b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert everything(connection).startswith(b"HTTP/1.1 431 ")


def test_a_form_that_does_not_arrive_is_answered_with_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bodies.__init__, "__kwdefaults__", {**Bodies.__init__.__kwdefaults__, "seconds": 0.3})
    head = b"POST /whoami HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nContent-Type: application/x-www-form-urlencoded"
    with serving() as port, plug(port) as connection:
        connection.sendall(head + b"\r\n\r\na=1")
        said = everything(connection)
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in said.lower()


def test_a_body_that_trickles_on_after_the_answer_is_cut_off() -> None:
    head = b"POST /whoami HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"
    with serving() as port, plug(port) as connection:
        connection.sendall(head)
        sent = 0
        try:
            for sent in range(200):  # noqa: B007 -- looked at afterwards
                connection.sendall(b"a")
                time.sleep(0.05)
        except OSError:
            pass
        assert sent < 199


def test_only_so_many_half_sent_requests_stay_open_and_others_are_answered() -> None:
    with serving(Limits(most_half_open=5, patience=0.2)) as port, ExitStack() as stack:
        old = [stack.enter_context(plug(port)) for _ in range(12)]
        for each in old:
            each.sendall(b"GET /whoami HTTP/1.1\r\n")
        time.sleep(0.4)
        with plug(port) as visitor:
            visitor.sendall(b"GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert everything(visitor).startswith(b"HTTP/1.1 200 ")
        closed = 0
        for each in old:
            each.settimeout(0.3)
            try:
                closed += not each.recv(100)
            except ConnectionResetError:
                closed += 1
            except TimeoutError:
                pass
        assert closed >= 7


def test_a_connection_is_used_for_several_requests() -> None:
    with serving() as port, closing(HTTPConnection("127.0.0.1", port, timeout=10)) as client:
        for _ in range(3):
            client.request("GET", "/whoami")
            assert client.getresponse().read() == b"127.0.0.1"
            time.sleep(0.3)
    request = b"GET /whoami HTTP/1.1\r\nHost: x\r\n"
    with serving() as port, plug(port) as connection:
        connection.sendall(request + b"\r\n" + request + b"Connection: close\r\n\r\n")
        assert everything(connection).count(b"HTTP/1.1 200 ") == 2


@pytest.mark.parametrize(
    ("proxies", "seen"), [(None, b"127.0.0.1"), ("127.0.0.1", b"203.0.113.9"), ("192.0.2.1", b"127.0.0.1")]
)
def test_a_forwarded_address_is_believed_from_named_proxies_only(
    monkeypatch: pytest.MonkeyPatch, proxies: str | None, seen: bytes
) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if proxies is not None:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", proxies)
    with serving() as port, plug(port) as connection:
        connection.sendall(
            b"GET /whoami HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n"
        )
        assert everything(connection).endswith(seen)
