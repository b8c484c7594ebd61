"""What all ways to fill an index in ClickHouse share: the lock, loads, deleted documents, statistics, commits."""

from __future__ import annotations

import contextlib
import logging
import math
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwell.clickhouse import manifest
from rankwell.clickhouse.engine import NO_TABLE, Engine, EngineError, open_engine
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.manifest import DOCUMENTS, MODERN, SHARDED, Commit, Fields, Layout, Loads
from rankwell.clickhouse.rows import Hashes, Rows
from rankwell.clickhouse.values import Sql, joined, numbers, sql, texts
from rankwell.core import Integers, RankwellError

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


EXISTS = 57
STALE = 60.0  # seconds without a heartbeat after which a writer counts as dead
LOOK = 0.5  # seconds for a writer that has just begun to write its first heartbeat
BETWEEN = 0.1  # seconds between two looks at deletions that are under way
FOREVER = 1e9


class PushLock:
    """Held by the writer that created the table `pushing`; `beat` is its heartbeat."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._owner = secrets.token_hex(8)
        self._beaten = 0.0

    @contextlib.contextmanager
    def held(self, stale: float = STALE) -> Iterator[PushLock]:
        """Take the lock without waiting: raise where another writer is alive, take over from a dead one."""
        self._take(stale)
        try:
            yield self
        finally:
            with contextlib.suppress(RankwellError):
                self._drop()

    def beat(self) -> None:
        """Write a heartbeat from time to time."""
        if time.monotonic() - self._beaten > STALE / 10:
            self._engine.run_first("INSERT INTO {own[pushing]} SELECT {owner}, now()", owner=self._owner)
            self._beaten = time.monotonic()

    def _drop(self) -> None:
        self._engine.run_first("DROP TABLE IF EXISTS {own[pushing]}")

    def _take(self, stale: float) -> None:
        create = "CREATE TABLE {own[pushing]} (owner String, at DateTime) ENGINE = MergeTree ORDER BY at"
        for _ in range(2):
            try:
                self._engine.run_first(create)
            except EngineError as error:
                if error.code != EXISTS:
                    raise
                silent = self._silence()
                if silent > FOREVER:  # perhaps just created, by a writer without a heartbeat yet
                    time.sleep(LOOK)
                    silent = self._silence()
                if silent < stale:
                    raise RankwellError(
                        f"{self._engine.address}: another push is writing (its last sign of life is {silent:.0f} s "
                        f"old; one that died is taken over after {stale:.0f} s)"
                    ) from None
                self._drop()
            else:
                self.beat()
                return
        raise RankwellError(f"{self._engine.address}: another push has just begun")

    def _silence(self) -> float:
        """Seconds since the other writer's last heartbeat."""
        age = "SELECT toFloat64(toUInt32(now()) - toUInt32(max(at))) AS seconds FROM {own[pushing]}"
        try:
            answer = self._engine.ask_first(age)
        except EngineError as error:
            if error.code in NO_TABLE:
                return math.inf
            raise
        return float(answer["seconds"][0]) if answer else math.inf


@contextlib.contextmanager
def writing(address: str, layout: Layout, stale: float) -> Iterator[Writer]:
    """The only writer of an index at an address; creates missing tables."""
    engine = open_engine(address)
    replicated = engine.address.replicated
    if replicated:
        manifest.check_keeper(engine)
    manifest.create(engine, replace(layout, replicated=replicated))
    with PushLock(engine).held(stale) as lock:
        yield Writer(engine, lock.beat)


class Writer:
    """Writes to an index while it holds the lock."""

    def __init__(self, engine: Engine, beat: Callable[[], None]) -> None:
        self.engine, self.beat = engine, beat
        self.replicated = manifest.is_replicated(engine)
        self.last = manifest.read_last_commit(engine)
        self.catch_up(self.last)  # every replica must see what a dead writer has finished
        self.loads = Loads.read(engine)
        self.fields = Fields.read(engine, self.last)

    def catch_up(self, commit: Commit | None) -> None:
        """Wait for replicas that copy from each other."""
        if self.replicated:
            own = () if commit is None else (of.table for of in commit.vectors)
            manifest.catch_up(self.engine, dict.fromkeys((*SHARDED, *own)))

    def send(self, rows: Iterable[tuple[str, Rows]]) -> None:
        """Insert rows, each with its table's name."""
        for table, columns in rows:
            self.engine.insert(self.engine.all[table], columns)
            self.beat()

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
        return ClickHouseIndex(self.engine, commit)

    def seen(self, commit: Commit) -> Commit:
        """The commit with all documents that are complete now."""
        return replace(commit, limit=self.loads.limit, holes=self.loads.holes)

    def there(self, commit: Commit) -> tuple[Integers, Hashes]:
        """The complete documents that are not dead, committed or not, and their hashes."""
        reader = self.reader(self.seen(commit))
        rows = reader.ask("SELECT document, hash FROM {all[documents]} WHERE {live}", apart=True, live=reader.where())
        return rows.integers("document"), np.asarray(rows.get("hash", ()), dtype=np.uint64)

    def bury(self, commit: Commit, gone: Integers) -> Commit:
        """Mark documents as dead, in a batch that no dead writer can have begun."""
        if not len(gone):
            return commit
        last = self.engine.ask("SELECT max(batch) AS batch FROM {all[dead]}")
        batch = last.number("batch") + 1 if last else 1
        columns = {"document": numbers("UInt32", gone), "batch": numbers("UInt32", np.full(len(gone), batch))}
        self.engine.insert(self.engine.all["dead"], columns)
        return replace(commit, batches=(*commit.batches, batch), deaths=commit.deaths + len(gone))

    def commit(self, commit: Commit) -> None:
        """Commit, after checking the number of visible documents and that their ids are unique."""
        self.catch_up(commit)
        self._check_replicas(commit)
        count = "SELECT count() AS n, uniqExact(docno) AS ids FROM {all[documents]} WHERE {live}"
        answer = self.engine.ask(count, live=self._live(commit))
        live, ids = answer.number("n"), answer.number("ids")
        if live != commit.documents:
            raise RankwellError(
                f"{self.engine.address}: expected {commit.documents:,} documents, found {live:,}: nothing was "
                "committed; has somebody else changed the tables?"
            )
        if ids != live:
            raise RankwellError(
                f"{self.engine.address}: expected an id of its own for each of {live:,} documents, found {ids:,} ids: "
                "nothing was committed"
            )
        self._count_terms(commit)
        self.publish(commit)

    def unchanged(self, last: Commit) -> Pushed:
        """The outcome where the last commit has everything; it is published again, as a writer may have died."""
        self.publish(last)
        return Pushed(last.commit, 0, 0, 0, last.documents)

    def _check_replicas(self, commit: Commit) -> None:
        """Check that every replica has all rows of its shard, or results would depend on the answering server."""
        address = self.engine.address
        if not address.cluster:
            return
        cluster = self.engine.ask(
            "SELECT count() AS servers, uniqExact(shard_num) AS shards FROM system.clusters WHERE cluster = {name}",
            name=address.cluster,
        )
        replicas, uneven = divmod(cluster.number("servers"), cluster.number("shards"))
        own = "SELECT count() AS n FROM {own[documents]} WHERE {live}"
        counts = [answer.number("n") for answer in self.engine.ask_each(own, live=self._live(commit))]
        if not uneven and sum(counts) != replicas * commit.documents:
            raise RankwellError(
                f"{address}: expected {commit.documents:,} documents on {replicas} replicas, found {sum(counts):,}: "
                "nothing was committed. In the servers' configuration internal_replication must be true with "
                "replicated=1, and false without"
            )

    def _live(self, commit: Commit) -> Sql:
        return self.reader(commit).where()

    def publish(self, commit: Commit) -> None:
        """Write the commit to every server that does not have it yet."""
        known = "SELECT count() AS n FROM {own[commits]} WHERE commit = {commit}"
        if not all(answer.number("n") for answer in self.engine.ask_each(known, commit=commit.commit)):
            columns = {"commit": numbers("UInt32", [commit.commit]), "manifest": texts([commit.written().decode()])}
            self.engine.insert_each(self.engine.own["commits"], columns)
        self.last = commit

    def _count_terms(self, commit: Commit) -> None:
        """Count the documents of each term over all shards, and store the counts on every server."""
        answers = self.engine.ask_each("SELECT DISTINCT commit FROM {own[terms]}")
        kept = range(commit.commit - KEPT + 1, commit.commit)
        for number in sorted({one for answer in answers for one in answer.column("commit")} - set(kept)):
            self.engine.run_each("ALTER TABLE {own[terms]} DROP PARTITION {commit}", commit=number)
        counts = self.engine.sql(
            "SELECT toUInt32({commit}) AS commit, field, toString(term) AS term, toUInt32(count()) AS documents "
            "FROM {all[postings]} WHERE {live} GROUP BY field, term",
            commit=commit.commit,
            live=self._live(commit),
        )
        self.engine.copy_each(counts, self.engine.own["terms"])


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
        dead = "document IN (SELECT document FROM {own[dead]} WHERE batch IN {batches})"
        parts.append(writer.engine.sql(dead, batches=commit.batches))
    return joined("OR", parts)


def _delete(writer: Writer, table: str, condition: Sql) -> None:
    """Delete rows on every server, and wait until they are gone."""
    engine = writer.engine
    # The subquery gives the same documents on every replica, which the engine cannot know.
    settings = Sql(" SETTINGS allow_nondeterministic_mutations = 1" if engine.version[0] >= MODERN else "")
    delete = "ALTER TABLE {table} DELETE WHERE {dead}{settings}"
    engine.run_each(delete, table=engine.own[table], dead=condition, settings=settings)
    waiting = engine.sql(
        "SELECT count() AS n FROM system.mutations WHERE database = {database} AND table = {table} AND is_done = 0",
        database=engine.address.database,
        table=table,
    )
    while any(answer.number("n") for answer in engine.ask_each(waiting)):
        writer.beat()
        time.sleep(BETWEEN)
