"""An index that lives in ClickHouse: in a cluster of servers, or in the embedded engine (chDB)."""

from __future__ import annotations

from rankwell.clickhouse.address import Address, is_address, parse_address
from rankwell.clickhouse.columns import RemoteColumn
from rankwell.clickhouse.errors import EngineError, ShardDownError, UnreachableError
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.opening import (
    all_vectors_of,
    embedded_only,
    facet_of,
    is_facet,
    is_remote,
    open_index,
    opened,
    vectors_of,
)
from rankwell.clickhouse.push import push
from rankwell.clickhouse.push_documents import push_documents
from rankwell.clickhouse.selection import Selection
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
    "all_vectors_of",
    "embedded_only",
    "facet_of",
    "is_address",
    "is_facet",
    "is_remote",
    "open_index",
    "opened",
    "parse_address",
    "push",
    "push_documents",
    "vectors_of",
]
