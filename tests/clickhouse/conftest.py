"""Places to push to: a database of the embedded engine for each test, and real clusters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from clickhouse_servers import Cluster, need_chdb, need_servers, running_cluster

_numbers = count(1)


@pytest.fixture(scope="session")
def chdb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine has one folder a process."""
    need_chdb()
    return tmp_path_factory.mktemp("chdb")


@pytest.fixture
def chdb(chdb_folder: Path) -> str:
    """The address of an empty database of the embedded engine."""
    return f"chdb://{chdb_folder}?database=test{next(_numbers)}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three shards of two replicas."""
    need_servers()
    with running_cluster(tmp_path_factory.mktemp("cluster"), 3, 2) as found:
        yield found
