"""An index in ClickHouse: in a cluster of servers, or in the embedded engine (chDB)."""

from __future__ import annotations

from rankwell.clickhouse.engine import parse_address
from rankwell.clickhouse.push import push, push_documents

__all__ = ["parse_address", "push", "push_documents"]
