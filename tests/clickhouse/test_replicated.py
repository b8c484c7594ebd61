"""Replicas that keep themselves alike with the help of a Keeper: real servers and a real ZooKeeper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from clickhouse_servers import Cluster, need_keeper, need_servers, running_cluster, running_keeper
from rankwell import Document
from rankwell.clickhouse import parse_address, push, push_documents
from rankwell.clickhouse.engine import Tables, open_engine
from rankwell.clickhouse.values import sql
from rankwell.core import RankwellError
from rankwell.index import Index, IndexWriter, open_index
from rankwell.retrieve import BM25

pytestmark = pytest.mark.slow

WORDS = [f"word{number}" for number in range(100)]
QUERIES = ("word1 word2", "word3", "word4 word5 word6")


def documents(count: int) -> list[Document]:
    chosen = random.Random(5)  # noqa: S311 -- documents, not secrets
    return [Document(f"d{number}", {"text": " ".join(chosen.choices(WORDS, k=8))}) for number in range(count)]


@pytest.fixture(scope="module")
def kept_alike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two shards of two replicas."""
    need_servers()
    need_keeper()
    folder = tmp_path_factory.mktemp("replicated")
    with running_keeper(folder / "keeper") as port, running_cluster(folder / "servers", 2, 2, keeper=port) as cluster:
        yield cluster


def counts(cluster: Cluster, database: str, table: str) -> list[list[int]]:
    """How many rows each replica of each shard has."""
    statement = sql("SELECT count() AS n FROM {own}", own=Tables(database)[table])
    return [
        [
            int(open_engine(parse_address(f"clickhouse://127.0.0.1:{node.http}/x")).ask(statement)["n"][0])
            for node in shard
        ]
        for shard in cluster.shards
    ]


def agree(index: Index, address: str) -> None:
    there = open_index(address)
    for query in QUERIES:
        assert BM25(there)(query).docnos.tolist() == BM25(index)(query).docnos.tolist()


def test_replicas_are_alike_after_every_push(kept_alike: Cluster, tmp_path: Path) -> None:
    address = kept_alike.address("papers", replicated=1)
    push_documents(documents(400), address, workers=2, load=100)
    with IndexWriter(tmp_path) as writer:
        writer.add_all(documents(400))
        for number in range(100):
            writer.delete(f"d{number}")
        writer.add(Document("new", {"text": "word1 word2"}))
    index = Index.open(tmp_path)
    done = push(index, kept_alike.address("papers"), purge=True)  # that they are replicated is known by now
    assert (done.added, done.deleted, done.purged) == (1, 100, 100)
    for table in ("documents", "stored", "postings"):
        assert all(first == second > 0 for first, second in counts(kept_alike, "papers", table)), table
    assert sum(first for first, _ in counts(kept_alike, "papers", "documents")) == 301  # nothing doubled, none dead
    for node in kept_alike.nodes:
        agree(index, f"clickhouse://127.0.0.1:{node.http}/papers?cluster=three")
    kept_alike.shards[0][0].kill()
    kept_alike.shards[1][1].kill()
    agree(index, address)
    for node in kept_alike.nodes:
        if node.dead:
            node.start()
            node.wait()


def test_what_it_needs_is_said(kept_alike: Cluster, tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="internal_replication must be true with replicated=1, and false without"):
        push_documents(documents(5), kept_alike.address("plain"), workers=1)
    with pytest.raises(RankwellError, match="expected replicated tables, found plain ones"):
        push_documents(documents(5), kept_alike.address("plain", replicated=1), workers=1)
    with running_cluster(tmp_path, 1, 1) as alone:
        with pytest.raises(RankwellError, match="expected a Keeper"):
            push_documents(documents(5), alone.address("x", replicated=1))
        with pytest.raises(RankwellError, match="one server has no replicas"):
            push_documents(documents(5), f"clickhouse://127.0.0.1:{alone.nodes[0].http}/x?replicated=1")
