"""Open connections to servers, used again by whoever comes next and closed with their owner."""

from __future__ import annotations

import http.client
import ssl
import weakref
from threading import Lock

from rankwell.clickhouse.address import SECURE, Address
from rankwell.core import RankwellError

Host = tuple[str, int]
Connection = http.client.HTTPConnection


class Connections:
    """Connections that wait for their next request, by server."""

    def __init__(self, address: Address) -> None:
        self._address, self._context = address, _context(address)
        self._idle: dict[Host, list[Connection]] = {}
        self._lock = Lock()
        weakref.finalize(self, _close, self._idle)

    def idle(self, host: Host) -> Connection | None:
        """One that has been used before, if there is any; the server may have closed it in the meantime."""
        with self._lock:
            waiting = self._idle.get(host)
            return waiting.pop() if waiting else None

    def fresh(self, host: Host) -> Connection:
        """A new one, connected."""
        timeout = self._address.connect
        if self._context is None:
            made = http.client.HTTPConnection(*host, timeout=timeout)
        else:
            made = http.client.HTTPSConnection(*host, timeout=timeout, context=self._context)
        try:
            made.connect()
        except BaseException:
            made.close()
            raise
        return made

    def give_back(self, host: Host, connection: Connection) -> None:
        """For the next."""
        with self._lock:
            self._idle.setdefault(host, []).append(connection)


def _close(idle: dict[Host, list[Connection]]) -> None:
    for connections in idle.values():
        for connection in connections:
            connection.close()


def _context(address: Address) -> ssl.SSLContext | None:
    if address.scheme != SECURE:
        return None
    try:
        return ssl.create_default_context(cafile=address.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise RankwellError(f"{address.ca}: expected a file of certificates: {error}") from error
