"""An index in ClickHouse: in a cluster of servers, or in the embedded engine (chDB)."""

from __future__ import annotations

from rankwell.clickhouse.engine import parse_address
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.push import push, push_documents

__all__ = ["ClickHouseIndex", "parse_address", "push", "push_documents"]
