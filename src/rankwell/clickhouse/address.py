"""The address of an index in ClickHouse, such as clickhouse://reader@one.example:8123,two.example/papers.

    clickhouse://[user[:password]@]host[:port][,host[:port]...]/database[?option=value&...]
    clickhouses://...                        the same through TLS
    chdb:///folder[?database=name]           the embedded engine, its files in a folder

Options: `cluster` (the cluster's name in the servers' configuration; without it there is one server), `timeout`
(seconds to wait for an answer, 30), `connect` (seconds to wait for a connection, 3), `retries` (rounds over all hosts
after the first, 4), `partial=1` (results of the other shards where one is down), `ca` (a file of trusted certificates),
`replicated=1` (a first push makes tables that replicas keep alike with the help of a Keeper).
A password may stand in RANKWELL_CLICKHOUSE_PASSWORD instead. It is never printed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rankwell.core import ParameterError

Host = tuple[str, int]

PLAIN, SECURE, EMBEDDED = "clickhouse", "clickhouses", "chdb"
EXAMPLE = "an address as clickhouse://user@host:8123/database or chdb:///folder"
PORTS = {PLAIN: 8123, SECURE: 8443}
PASSWORD = "RANKWELL_CLICKHOUSE_PASSWORD"  # noqa: S105 -- the variable's name
DATABASE = "rankwell"
SWITCHES = ("partial", "replicated")


@dataclass(frozen=True)
class Address:
    """An address in its parts; `str` and `repr` are without the password."""

    scheme: str
    hosts: tuple[Host, ...] = ()
    user: str = "default"
    password: str = field(default="", repr=False)
    database: str = DATABASE
    folder: str = ""
    cluster: str = ""
    timeout: float = 30.0
    connect: float = 3.0
    retries: int = 4
    partial: bool = False
    ca: str = ""
    replicated: bool = False

    def __str__(self) -> str:
        if self.scheme == EMBEDDED:
            return f"chdb://{self.folder}" + (f"?database={self.database}" if self.database != DATABASE else "")
        user = f"{self.user}@" if self.user != "default" else ""
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return f"{self.scheme}://{user}{hosts}/{self.database}"

    __repr__ = __str__


def parse_address(text: str) -> Address:
    """Parse an address; errors never repeat what might be a password."""
    try:
        parts = urlsplit(text)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise ParameterError("address", expected=EXAMPLE, found=_hidden(text)) from None
    if parts.scheme == EMBEDDED:
        folder = unquote(parts.netloc + parts.path)
        if not folder:
            raise ParameterError("address", expected="a folder as in chdb:///data/papers", found=text)
        return _with_options(Address(EMBEDDED, folder=folder), options, ("database",))
    if parts.scheme not in PORTS or not parts.netloc:
        raise ParameterError("address", expected=EXAMPLE, found=_hidden(text))
    user, _, where = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    hosts = tuple(_host(host, PORTS[parts.scheme], text) for host in where.split(","))
    database = unquote(parts.path.strip("/")) or DATABASE
    secret = unquote(password) or os.environ.get(PASSWORD, "")
    made = Address(parts.scheme, hosts, unquote(name) or "default", secret, database)
    return _with_options(made, options, ("cluster", "timeout", "connect", "retries", "partial", "ca", "replicated"))


def _with_options(address: Address, options: dict[str, str], known: tuple[str, ...]) -> Address:
    found: dict[str, Any] = {}
    for name, text in options.items():
        if name not in known:
            raise ParameterError("address", expected=f"options among {', '.join(known)}", found=name)
        found[name] = _option(name, text)
    return replace(address, **found)


def _option(name: str, text: str) -> Any:
    if name in ("cluster", "ca", "database"):
        return text
    try:
        number = float(text)
        if name in SWITCHES and text in ("0", "1"):
            return text == "1"
        if name == "retries" and number.is_integer() and number >= 0:
            return int(number)
        if name in ("timeout", "connect") and number > 0:
            return number
    except ValueError:
        pass
    expected = {**dict.fromkeys(SWITCHES, "0 or 1"), "retries": "a whole number from 0"}.get(name, "seconds above 0")
    raise ParameterError(f"address, {name}", expected=expected, found=text)


def _host(text: str, port: int, address: str) -> Host:
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname:
            return parts.hostname, parts.port or port
    except ValueError:
        pass
    raise ParameterError("address", expected="hosts as one.example:8123,two.example", found=_hidden(address))


def _hidden(text: str) -> str:
    """The address without the part before the hosts."""
    head, found, rest = text.partition("://")
    return f"{head}{found}{rest.rpartition('@')[2]}"
