"""An index in ClickHouse: in a cluster of servers, or in the embedded engine (chDB)."""

from __future__ import annotations

from rankwell.clickhouse.documents import RemoteColumn, Selection
from rankwell.clickhouse.engine import Address, EngineError, ShardDownError, UnreachableError, parse_address
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.push import push, push_documents
from rankwell.clickhouse.vectors import RemoteEmbeddings
from rankwell.clickhouse.writing import Pushed

__all__ = [
    "Address",
    "ClickHouseIndex",
    "EngineError",
    "Pushed",
    "RemoteColumn",
    "RemoteEmbeddings",
    "Selection",
    "ShardDownError",
    "UnreachableError",
    "parse_address",
    "push",
    "push_documents",
]
