"""What all ways to fill an index in ClickHouse share: loads, deleted documents, statistics, commits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwell.clickhouse.address import parse_address
from rankwell.clickhouse.documents import Fields
from rankwell.clickhouse.engine import Engine, open_engine
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.manifest import DOCUMENTS, Commit, Loads, PushLock, read_last_commit, text_of
from rankwell.clickhouse.rows import Hashes
from rankwell.clickhouse.tables import MODERN, SHARDED, Layout, Tables, catch_up, check_keeper, create, is_replicated
from rankwell.clickhouse.values import Sql, joined, numbers, sql, texts
from rankwell.core import RankwellError
from rankwell.core.arrays import Integers

log = logging.getLogger(__name__)

KEPT = 2  # commits with stored statistics: readers of the last but one can continue


@dataclass(frozen=True)
class Pushed:
    """The outcome of a push."""

    commit: int
    added: int
    deleted: int
    vectors: int
    documents: int
    purged: int = 0


@contextmanager
def writing(address: str, layout: Layout, stale: float) -> Iterator[Writer]:
    """The only writer of an index at an address; creates missing tables."""
    parsed = parse_address(address)
    engine, tables = open_engine(parsed), Tables(parsed.database, parsed.cluster)
    if parsed.replicated:
        check_keeper(engine)
    create(engine, tables, replace(layout, replicated=parsed.replicated))
    with PushLock(engine, tables).held(stale) as lock:
        yield Writer(engine, tables, lock.beat)


class Writer:
    """Writes to an index while it holds the lock."""

    def __init__(self, engine: Engine, tables: Tables, beat: Callable[[], None]) -> None:
        self.engine, self.tables, self.beat = engine, tables, beat
        self.replicated = is_replicated(engine, tables)
        self.last = read_last_commit(engine, tables)
        self.catch_up(self.last)  # every replica must see what a dead writer has finished
        self.loads = Loads.read(engine, tables)
        self.fields = Fields.read(engine, tables, self.last)

    def catch_up(self, commit: Commit | None) -> None:
        """Wait for replicas that copy from each other."""
        if self.replicated:
            own = () if commit is None else (of.table for of in commit.vectors)
            catch_up(self.engine, self.tables, dict.fromkeys((*SHARDED, *own)))

    def following(self, analyzer: Mapping[str, Any], metadata: Sequence[str], *, positions: bool) -> Commit:
        """The next commit with these settings; raises where the index was created with others."""
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
        """The index at a commit, which may not be published yet."""
        return ClickHouseIndex(self.engine, self.tables, commit)

    def seen(self, commit: Commit) -> Commit:
        """The commit with all documents that are complete now."""
        return replace(commit, limit=self.loads.limit, holes=self.loads.holes)

    def there(self, commit: Commit) -> tuple[Integers, Hashes]:
        """The complete documents that are not dead, committed or not, and their hashes."""
        reader, documents = self.reader(self.seen(commit)), self.tables.all("documents")
        found = reader.ask(
            sql("SELECT document, hash FROM {all} WHERE {live}", all=documents, live=reader.where()), apart=True
        )
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        return found["document"].astype(np.int64), found["hash"]

    def bury(self, commit: Commit, gone: Integers) -> Commit:
        """Mark documents as dead, in a batch that no dead writer can have begun."""
        if not len(gone):
            return commit
        found = self.engine.ask(sql("SELECT max(batch) AS batch FROM {dead}", dead=self.tables.all("dead")))
        batch = int(found["batch"][0]) + 1 if found else 1
        columns = {"document": numbers("UInt32", gone), "batch": numbers("UInt32", np.full(len(gone), batch))}
        self.engine.insert(self.tables.all("dead"), columns)
        return replace(commit, batches=(*commit.batches, batch), deaths=commit.deaths + len(gone))

    def commit(self, commit: Commit) -> None:
        """Commit, after checking the number of visible documents and that their ids are unique."""
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
        """Check that every replica has all rows of its shard, or results would depend on the answering server."""
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
        """Write the commit to every server that does not have it yet."""
        commits = self.tables.own("commits")
        known = self.engine.ask_each(
            sql("SELECT count() AS n FROM {commits} WHERE commit = {commit}", commits=commits, commit=commit.commit)
        )
        if not all(int(answer["n"][0]) for answer in known):
            columns = {"commit": numbers("UInt32", [commit.commit]), "manifest": texts([text_of(commit)])}
            self.engine.insert_each(commits, columns)
        self.last = commit

    def _count_terms(self, commit: Commit) -> None:
        """Count the documents of each term over all shards, and store the counts on every server."""
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


LOOK = 0.1  # seconds
BY_DOCUMENT = ("postings", "documents", "stored")


def purged(writer: Writer, done: Pushed) -> Pushed:
    """The outcome, after a commit without dead rows; nothing more is done where there are none.

    Every server rewrites the affected parts of its tables. Readers of an earlier commit lose the documents that
    have been deleted since.
    """
    commit = writer.last
    if commit is None or not (commit.batches or commit.holes):
        return done
    for table in BY_DOCUMENT:
        _delete(writer, table, _dead(writer, commit))
    for table in dict.fromkeys(("vectors", *(of.table for of in commit.vectors))):
        kept = tuple(load for of in commit.vectors for load in of.loads)
        strangers = sql("load NOT IN {loads}", loads=kept) if kept else Sql("1")
        _delete(writer, table, joined("OR", [_dead(writer, commit), strangers]))
    for load in list(writer.loads.known.values()):
        if load.kind == DOCUMENTS and not load.finished:
            writer.loads.finish(load)  # complete without rows
    clean = replace(commit, commit=commit.commit + 1, batches=(), deaths=0, holes=writer.loads.holes)
    writer.commit(clean)
    return replace(done, commit=clean.commit, purged=commit.deaths)


def _dead(writer: Writer, commit: Commit) -> Sql:
    """The condition that a document is invisible to all readers."""
    parts = [sql("document >= {first} AND document < {end}", first=first, end=first + n) for first, n in commit.holes]
    if commit.batches:
        dead = writer.tables.own("dead")
        parts.append(
            sql("document IN (SELECT document FROM {dead} WHERE batch IN {batches})", dead=dead, batches=commit.batches)
        )
    return joined("OR", parts)


def _delete(writer: Writer, table: str, condition: Sql) -> None:
    """Delete rows on every server, and wait until they are gone."""
    engine, own = writer.engine, writer.tables.own(table)
    # The subquery gives the same documents on every replica, which the engine cannot know.
    settings = Sql(" SETTINGS allow_nondeterministic_mutations = 1" if engine.version[0] >= MODERN else "")
    engine.run_each(sql("ALTER TABLE {own} DELETE WHERE {dead}{settings}", own=own, dead=condition, settings=settings))
    waiting = sql(
        "SELECT count() AS n FROM system.mutations WHERE database = {database} AND table = {table} AND is_done = 0",
        database=writer.tables.database,
        table=table,
    )
    while any(int(answer["n"][0]) for answer in engine.ask_each(waiting)):
        writer.beat()
        time.sleep(LOOK)
