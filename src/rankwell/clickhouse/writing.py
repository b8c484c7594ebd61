"""What every way of filling an index in ClickHouse has in common: loads, the dead, statistics, the commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwell.clickhouse.address import parse_address
from rankwell.clickhouse.engine import Engine, open_engine
from rankwell.clickhouse.fields import Fields
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.literals import Sql, sql
from rankwell.clickhouse.loads import Loads
from rankwell.clickhouse.lock import PushLock
from rankwell.clickhouse.manifest import Commit, read_last_commit, text_of
from rankwell.clickhouse.native import numbers, texts
from rankwell.clickhouse.replication import catch_up, check_keeper, is_replicated
from rankwell.clickhouse.rows import Hashes
from rankwell.clickhouse.tables import SHARDED, Layout, Tables, create
from rankwell.core import RankwellError
from rankwell.core.arrays import Integers

log = logging.getLogger(__name__)

KEPT = 2  # commits whose statistics are kept: readers of the one before the last go on


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    commit: int
    added: int
    deleted: int
    vectors: int
    documents: int
    purged: int = 0


@contextmanager
def writing(address: str, layout: Layout, stale: float) -> Iterator[Writer]:
    """The one writer of an index at an address, whose tables are there."""
    parsed = parse_address(address)
    engine, tables = open_engine(parsed), Tables(parsed.database, parsed.cluster)
    if parsed.replicated:
        check_keeper(engine)
    create(engine, tables, replace(layout, replicated=parsed.replicated))
    with PushLock(engine, tables).held(stale) as lock:
        yield Writer(engine, tables, lock.beat)


class Writer:
    """Writes to an index, while the lock is held."""

    def __init__(self, engine: Engine, tables: Tables, beat: Callable[[], None]) -> None:
        self.engine, self.tables, self.beat = engine, tables, beat
        self.replicated = is_replicated(engine, tables)
        self.last = read_last_commit(engine, tables)
        self.catch_up(self.last)  # what a writer that died has finished must be seen on every replica
        self.loads = Loads.read(engine, tables)
        self.fields = Fields.read(engine, tables, self.last)

    def catch_up(self, commit: Commit | None) -> None:
        """Wait for replicas that copy from each other."""
        if self.replicated:
            own = () if commit is None else (of.table for of in commit.vectors)
            catch_up(self.engine, self.tables, dict.fromkeys((*SHARDED, *own)))

    def following(self, analyzer: Mapping[str, Any], metadata: Sequence[str], *, positions: bool) -> Commit:
        """The commit after the last one, of these settings; raises where the index was made with others."""
        last = self.last
        if last is None:
            return Commit(analyzer, (), dict.fromkeys(metadata, ""), commit=1, positions=positions)
        for name, ours, theirs in (
            ("analyzer", analyzer, last.analyzer),
            ("metadata", list(metadata), list(last.metadata)),
            ("positions", positions, last.positions),
        ):
            if ours != theirs:
                raise RankwellError(
                    f"{self.engine.address}: holds an index with another {name}: expected {theirs}, found {ours}; push "
                    "into another database"
                )
        return replace(last, commit=last.commit + 1)

    def reader(self, commit: Commit) -> ClickHouseIndex:
        """The index as it is at a commit, be it one that nobody has made yet."""
        return ClickHouseIndex(self.engine, self.tables, commit)

    def seen(self, commit: Commit) -> Commit:
        """That commit with all documents that are complete now."""
        return replace(commit, limit=self.loads.limit, holes=self.loads.holes)

    def there(self, commit: Commit) -> tuple[Integers, Hashes]:
        """The documents that are complete and not dead, committed or not, and their hashes."""
        reader, documents = self.reader(self.seen(commit)), self.tables.all("documents")
        found = reader.ask(
            sql("SELECT document, hash FROM {all} WHERE {live}", all=documents, live=reader.where()), apart=True
        )
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        return found["document"].astype(np.int64), found["hash"]

    def bury(self, commit: Commit, gone: Integers) -> Commit:
        """Mark documents as dead; the batch is one that no dead writer can have begun."""
        if not len(gone):
            return commit
        found = self.engine.ask(sql("SELECT max(batch) AS batch FROM {dead}", dead=self.tables.all("dead")))
        batch = int(found["batch"][0]) + 1 if found else 1
        columns = {"document": numbers("UInt32", gone), "batch": numbers("UInt32", np.full(len(gone), batch))}
        self.engine.insert(self.tables.all("dead"), columns)
        return replace(commit, batches=(*commit.batches, batch), deaths=commit.deaths + len(gone))

    def commit(self, commit: Commit) -> None:
        """Make a commit: what readers will see must be as many documents as it says, each with an id of its own."""
        self.catch_up(commit)
        self._check_replicas(commit)
        statement = sql(
            "SELECT count() AS n, uniqExact(docno) AS ids FROM {all} WHERE {live}",
            all=self.tables.all("documents"),
            live=self._live(commit),
        )
        answer = self.engine.ask(statement)
        found, ids = int(answer["n"][0]), int(answer["ids"][0])
        if found != commit.documents:
            raise RankwellError(
                f"{self.engine.address}: expected {commit.documents:,} documents, found {found:,}: nothing was "
                "committed; has somebody else changed the tables?"
            )
        if ids != found:
            raise RankwellError(
                f"{self.engine.address}: expected an id of its own for each of {found:,} documents, found {ids:,} ids: "
                "nothing was committed"
            )
        self._count_terms(commit)
        self.publish(commit)

    def _check_replicas(self, commit: Commit) -> None:
        """Every replica must have what its shard has, or who answers would decide what is found."""
        address = self.engine.address
        if not address.cluster:
            return
        statement = sql(
            "SELECT count() AS servers, uniqExact(shard_num) AS shards FROM system.clusters WHERE cluster = {name}",
            name=address.cluster,
        )
        cluster = self.engine.ask(statement)
        replicas, uneven = divmod(int(cluster["servers"][0]), int(cluster["shards"][0]))
        own = sql(
            "SELECT count() AS n FROM {own} WHERE {live}", own=self.tables.own("documents"), live=self._live(commit)
        )
        found = [int(answer["n"][0]) for answer in self.engine.ask_each(own)]
        if not uneven and sum(found) != replicas * commit.documents:
            raise RankwellError(
                f"{address}: expected {commit.documents:,} documents on {replicas} replicas, found {sum(found):,}: "
                "nothing was committed. In the servers' configuration internal_replication must be true with "
                "replicated=1, and false without"
            )

    def _live(self, commit: Commit) -> Sql:
        return self.reader(commit).where()

    def publish(self, commit: Commit) -> None:
        """The commit itself, on every server that does not have it yet."""
        commits = self.tables.own("commits")
        known = self.engine.ask_each(
            sql("SELECT count() AS n FROM {commits} WHERE commit = {commit}", commits=commits, commit=commit.commit)
        )
        if not all(int(answer["n"][0]) for answer in known):
            columns = {"commit": numbers("UInt32", [commit.commit]), "manifest": texts([text_of(commit)])}
            self.engine.insert_each(commits, columns)
        self.last = commit

    def _count_terms(self, commit: Commit) -> None:
        """In how many documents each term is: counted by all shards together, kept on every server."""
        terms = self.tables.own("terms")
        found = self.engine.ask_each(sql("SELECT DISTINCT commit FROM {terms}", terms=terms))
        kept = range(commit.commit - KEPT + 1, commit.commit)
        for number in sorted({int(one) for answer in found for one in answer.get("commit", ())} - set(kept)):
            self.engine.run_each(sql("ALTER TABLE {terms} DROP PARTITION {commit}", terms=terms, commit=number))
        statement = sql(
            "SELECT toUInt32({commit}) AS commit, field, toString(term) AS term, toUInt32(count()) AS documents "
            "FROM {postings} WHERE {live} GROUP BY field, term",
            commit=commit.commit,
            postings=self.tables.all("postings"),
            live=self._live(commit),
        )
        self.engine.copy_each(statement, terms)
