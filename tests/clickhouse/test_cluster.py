"""A real cluster of three shards and two replicas: what it says when servers die, and when the writer does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from clickhouse_servers import PASSWORD, READER, Cluster, need_servers, running_cluster
from rankwell import Document
from rankwell.clickhouse import parse_address, push
from rankwell.clickhouse.engine import ShardDownError, Tables, UnreachableError, open_engine
from rankwell.clickhouse.values import sql
from rankwell.core import RankwellError
from rankwell.index import Index, IndexWriter, open_index
from rankwell.retrieve import BM25

pytestmark = pytest.mark.slow

WORDS = [f"word{number}" for number in range(300)]
PUSHING = Path(__file__).with_name("pushing.py")


def filled(folder: Path, count: int, seed: int = 1) -> Index:
    chosen = random.Random(seed)  # noqa: S311 -- documents, not secrets
    with IndexWriter(folder) as writer:
        for number in range(count):
            writer.add(Document(f"d{number}", {"text": " ".join(chosen.choices(WORDS, k=12))}))
    return Index.open(folder)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return filled(tmp_path_factory.mktemp("index"), 3000)


@pytest.fixture(scope="module")
def pushed(index: Index, cluster: Cluster) -> Cluster:
    push(index, cluster.address("kills"))
    return cluster


@pytest.fixture(autouse=True)
def whole_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whoever was killed in a test is back after it."""
    yield
    if "cluster" in request.fixturenames or "pushed" in request.fixturenames:
        cluster: Cluster = request.getfixturevalue("cluster")
        for node in cluster.nodes:
            if node.dead:
                node.start()
                node.wait()


def rows(cluster: Cluster, database: str, table: str) -> list[list[int]]:
    """How many rows each replica of each shard has."""
    found = []
    for shard in cluster.shards:
        engines = [open_engine(parse_address(f"clickhouse://127.0.0.1:{node.http}/{database}")) for node in shard]
        statement = sql("SELECT count() AS n FROM {own}", own=Tables(database)[table])
        found.append([int(engine.ask(statement)["n"][0]) for engine in engines])
    return found


def test_documents_are_spread_over_the_shards_and_replicas_are_equal(pushed: Cluster) -> None:
    for table in ("documents", "postings", "stored"):
        counts = rows(pushed, "kills", table)
        assert all(first == second > 0 for first, second in counts)
    assert sum(first for first, _ in rows(pushed, "kills", "documents")) == 3000
    assert len({count for shard in rows(pushed, "kills", "terms") for count in shard}) == 1  # all statistics everywhere


def test_no_query_fails_when_a_replica_is_killed(pushed: Cluster, index: Index) -> None:
    there, chosen = open_index(pushed.address("kills")), random.Random(2)  # noqa: S311 -- queries, not secrets
    queries = [" ".join(chosen.choices(WORDS, k=2)) for _ in range(1000)]
    expected = index.search(queries, 10)
    for start in range(0, 1000, 100):
        # While the hundred is on its way.
        victim = {300: pushed.shards[1][0], 600: pushed.shards[0][1]}.get(start)
        killer = Timer(0.1, victim.kill if victim is not None else lambda: None)
        killer.start()
        found = there.search(queries[start : start + 100], 10, threads=4)
        killer.join()
        for number in range(100):
            assert found[number].docnos.tolist() == expected[start + number].docnos.tolist()


def test_a_shard_that_is_down_is_named_and_left_out_only_when_asked(
    pushed: Cluster, index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    there = open_index(pushed.address("kills", retries=1))
    partial = open_index(pushed.address("kills", retries=1, partial=1))
    expected = BM25(index, k=3000)("word1 word2").docnos.tolist()
    for node in pushed.shards[1]:
        node.kill()
    ports = ", ".join(f"127.0.0.1:{node.tcp}" for node in pushed.shards[1])
    with pytest.raises(ShardDownError, match=f"no server of shard 2 \\({ports}\\) answers"):
        BM25(there, k=3000)("word1 word2")
    found = BM25(partial, k=3000)("word1 word2").docnos.tolist()
    assert 0 < len(found) < len(expected)
    assert found == [docno for docno in expected if docno in set(found)]  # scored with the statistics of all
    assert "shard 2" in caplog.text
    with pytest.raises(RankwellError):
        push(index, pushed.address("kills"))
    for node in pushed.shards[1]:
        node.start()
        node.wait()
    assert BM25(there, k=3000)("word1 word2").docnos.tolist() == expected
    assert BM25(partial, k=3000)("word1 word2").docnos.tolist() == expected


def test_a_killed_writer_leaves_nothing_doubled_and_nothing_missing(cluster: Cluster, tmp_path: Path) -> None:
    address = cluster.address("writer")
    index = filled(tmp_path, 2000)
    chosen = random.Random(3)  # noqa: S311 -- moments, not secrets
    for attempt in range(4):
        command = [sys.executable, str(PUSHING), str(tmp_path), address, "250"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            for _ in range(attempt):  # after so many loads, and a moment
                assert process.stdout is not None
                process.stdout.readline()
            time.sleep(0.2 * chosen.random() if attempt else 1.5)
            os.kill(process.pid, signal.SIGKILL)
    done = push(index, address, load=250, stale=0)
    assert done.added < 2000  # what the dead ones had finished was kept
    there = open_index(address)
    names = list(there.documents)
    assert len(names) == len(set(names)) == 2000
    for query in ("word1 word2", "word3", "word4 word5 word6"):
        ours, theirs = BM25(index, k=2000)(query), BM25(there, k=2000)(query)
        assert ours.docnos.tolist() == theirs.docnos.tolist()
        assert ours.scores.tolist() == pytest.approx(theirs.scores.tolist(), abs=1e-5)


def test_changes_are_seen_on_every_server(cluster: Cluster, tmp_path: Path) -> None:
    address = cluster.address("changes")
    push(filled(tmp_path, 200), address)
    with IndexWriter(tmp_path) as writer:
        for number in range(50):
            writer.delete(f"d{number}")
        writer.add(Document("new", {"text": "word1 word2"}))
        writer.add(Document("d60", {"text": "word1"}))
    index = Index.open(tmp_path)
    done = push(index, address)
    assert (done.added, done.deleted) == (2, 51)
    for node in cluster.nodes:
        there = open_index(f"clickhouse://127.0.0.1:{node.http}/changes?cluster=three")
        ours, theirs = BM25(index)("word1 word2"), BM25(there)("word1 word2")
        assert ours.docnos.tolist() == theirs.docnos.tolist()


def test_a_push_needs_the_address_of_every_server(cluster: Cluster, index: Index) -> None:
    with pytest.raises(RankwellError, match="each of the 6 servers of cluster 'three', found 1"):
        push(index, f"clickhouse://127.0.0.1:{cluster.nodes[0].http}/short?cluster=three")
    with pytest.raises(RankwellError, match="expected a cluster 'other'"):
        push(index, cluster.address("short", cluster="other"))


def test_hostile_texts_are_texts_for_the_old_server_too(cluster: Cluster) -> None:
    engine = open_engine(parse_address(cluster.address("default")))
    for text in ("'; DROP TABLE x; --", "\\'", "\\", "a\0b", "ü漢字🙂", "`", "{x:String}", "\n\r\t"):
        assert engine.ask(sql("SELECT {text} AS text", text=text))["text"] == [text]


def test_a_user_needs_a_password_and_it_is_never_told(cluster: Cluster) -> None:
    from urllib.parse import quote

    port = cluster.nodes[0].http
    engine = open_engine(parse_address(f"clickhouse://{READER}:{quote(PASSWORD)}@127.0.0.1:{port}/x"))
    assert engine.version >= (18,)
    wrong = open_engine(parse_address(f"clickhouse://{READER}:wr0ng@127.0.0.1:{port}/x"))
    with pytest.raises(RankwellError, match="user and password") as told:
        wrong.ask(sql("SELECT 1 AS one"))
    assert "wr0ng" not in str(told.value)


def test_nobody_there_is_told_with_the_places() -> None:
    with pytest.raises(UnreachableError, match=r"found none at 127\.0\.0\.1:1, 127\.0\.0\.1:2"):
        open_index("clickhouse://127.0.0.1:1,127.0.0.1:2/x?retries=0")


def test_tls_is_spoken_and_certificates_are_checked(tmp_path: Path) -> None:
    need_servers()
    with running_cluster(tmp_path, 1, 1, secure=True) as cluster:
        address = f"clickhouses://127.0.0.1:{cluster.nodes[0].https}/x?retries=0"
        trusting = open_engine(parse_address(f"{address}&ca={cluster.certificate}"))
        assert trusting.ask(sql("SELECT 1 AS one"))["one"].tolist() == [1]
        with pytest.raises(UnreachableError, match="certificate"):
            open_engine(parse_address(address)).ask(sql("SELECT 1 AS one"))
