"""What a connection may cost before its request is complete: bytes of headers, time, and how many wait at once.

Uvicorn limits none of these with its quick parser: a visitor could send headers without end, or keep any number of
half-sent requests open.
"""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from dataclasses import dataclass
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

REQUEST_TIMEOUT, TOO_LARGE = 408, 431
WORDS = {REQUEST_TIMEOUT: "The request came too slowly.", TOO_LARGE: "The headers are too large."}


@dataclass(frozen=True)
class Limits:
    """The limits of a server; `serve` uses these."""

    header_bytes: int = 32 * 1024  # with the address; browsers send less than 8 KB
    header_seconds: float = 20
    body_seconds: float = 300  # the pages and the API have shorter ones
    most_half_open: int = 256  # connections without a complete request; more are closed, the oldest first, ...
    patience: float = 2  # ... once they have had this many seconds


class LimitedProtocol(HttpToolsProtocol):
    """A connection that is closed when its request exceeds the limits. `limited` makes a class for each server."""

    limits: ClassVar[Limits] = Limits()
    half_open: ClassVar[dict[LimitedProtocol, float]] = {}  # with the time since when, the oldest first

    _timer: TimerHandle | None = None
    _in_headers = True
    _head = 0  # bytes of the headers so far
    _refused: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse some bytes, unless the headers have grown too large."""
        if self.transport.is_closing():
            return
        if self not in self.half_open and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        if self._in_headers:
            self._head += len(data)
        super().data_received(data)
        if self._in_headers and self._head > self.limits.header_bytes and not self.transport.is_closing():
            self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_headers = True
        if self not in self.half_open:
            self._wait()

    def on_headers_complete(self) -> None:
        """Start the application, unless the headers are too large."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.header_bytes:
            self._refused = TOO_LARGE
            raise ValueError(WORDS[TOO_LARGE])  # the parser stops, and asks for a response
        self._in_headers, self._head = False, 0
        self._set_timer(self.limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._wait_no_longer()
        self._in_headers = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and headers that are too large."""
        if self._refused is not None:
            self._refuse(self._refused)
        else:
            super().send_400_response(msg)

    def _wait(self) -> None:
        now = self.loop.time()
        self._head = 0
        self.half_open[self] = now
        self._set_timer(self.limits.header_seconds)
        while len(self.half_open) > self.limits.most_half_open:
            oldest = next(iter(self.half_open))
            if now - self.half_open[oldest] < self.limits.patience:
                break
            del self.half_open[oldest]
            oldest.transport.abort()

    def _wait_no_longer(self) -> None:
        self.half_open.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self._in_headers and not self.transport.is_closing():
            self._refuse(REQUEST_TIMEOUT)
        else:
            self.transport.abort()

    def _refuse(self, status: int) -> None:
        words = WORDS[status].encode()
        headers = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + headers % len(words) + words)
        self.transport.close()


def limited(limits: Limits) -> type[LimitedProtocol]:
    """The class of one server's connections, which count among themselves."""
    attributes: dict[str, Any] = {"limits": limits, "half_open": {}}
    return type("Limited", (LimitedProtocol,), attributes)
