"""Copying an embedded index into ClickHouse, and later what has changed in it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankwell.clickhouse.address import parse_address
from rankwell.clickhouse.columns import NONE, NUMBER, TEXT
from rankwell.clickhouse.engine import Engine, open_engine
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.loads import DOCUMENTS, Loads
from rankwell.clickhouse.lock import STALE, PushLock
from rankwell.clickhouse.manifest import Commit, read_last_commit, text_of
from rankwell.clickhouse.native import numbers, texts
from rankwell.clickhouse.push_vectors import push_vectors
from rankwell.clickhouse.rows import Hashes, SegmentRows, document_hashes
from rankwell.clickhouse.tables import Tables, create
from rankwell.core import Progress, RankwellError, fingerprint
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.dense import embeddings_of
from rankwell.index import Index, NumberColumn

log = logging.getLogger(__name__)

LOAD = 1 << 17  # documents that are complete or not as one
KEPT = 2  # commits whose statistics are kept: readers of the one before the last go on
ATTEMPTS = 3


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    commit: int
    added: int
    deleted: int
    vectors: int
    documents: int


def push(index: Index, address: str, *, progress: Progress = SILENT, load: int = LOAD, stale: float = STALE) -> Pushed:
    """Make the index at an address equal to an embedded one: its documents, and the vectors beside it.

    Only what differs is sent. Whatever ends it, the same call goes on where it stopped; until it has finished, readers
    see the commit before. `load` documents at a time are complete or not; a writer that gave no sign of life for
    `stale` seconds is taken for dead.
    """
    parsed = parse_address(address)
    engine, tables = open_engine(parsed), Tables(parsed.database, parsed.cluster)
    create(engine, tables, index.metadata)
    with PushLock(engine, tables).held(stale) as lock:
        return _Push(index, engine, tables, lock.beat, load)(progress)


class _Push:
    """One push, while the lock is held."""

    def __init__(self, index: Index, engine: Engine, tables: Tables, beat: Callable[[], None], size: int) -> None:
        self._index, self._engine, self._tables = index, engine, tables
        self._beat, self._size = beat, size
        self._last = read_last_commit(engine, tables)
        self._loads = Loads.read(engine, tables)
        self._commit = _settled(index, self._last, str(engine.address))

    def __call__(self, progress: Progress) -> Pushed:
        index, last = self._index, self._last
        source = fingerprint([index.fingerprint(), [there.fingerprint() for there in embeddings_of(index)]])
        if last is not None and last.source == source:
            self._publish(last)
            return Pushed(last.commit, 0, 0, 0, last.documents)
        hashes = document_hashes(index)
        wanted = np.flatnonzero(index.live)
        _check_hashes(hashes[wanted])
        there, their_hashes = self._there()
        added = wanted[~np.isin(hashes[wanted], their_hashes)]
        gone = there[~np.isin(their_hashes, hashes[wanted])]
        progress.total = len(added)
        self._add(added, hashes, progress)
        commit = replace(self._commit, limit=self._loads.limit, holes=self._loads.holes, source=source)
        if len(gone):
            commit = replace(commit, batches=(*commit.batches, self._bury(gone)), deaths=commit.deaths + len(gone))
        sets, vectors = push_vectors(
            index, ClickHouseIndex(self._engine, self._tables, commit), self._loads, self._beat
        )
        commit = replace(commit, vectors=sets)
        self._check_complete(commit)
        self._count_terms(commit)
        self._publish(commit)
        return Pushed(commit.commit, len(added), len(gone), vectors, commit.documents)

    def _there(self) -> tuple[Integers, Hashes]:
        """The documents that are complete and not dead, committed or not, and their hashes."""
        seen = replace(self._commit, limit=self._loads.limit, holes=self._loads.holes)
        reader = ClickHouseIndex(self._engine, self._tables, seen)
        documents = self._tables.all("documents")
        found = reader.ask(
            sql("SELECT document, hash FROM {all} WHERE {live}", all=documents, live=reader.where()), apart=True
        )
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        return found["document"].astype(np.int64), found["hash"]

    def _add(self, added: Integers, hashes: Hashes, progress: Progress) -> None:
        """Send documents, load by load."""
        spaces = {"": 0, **{name: place for place, name in enumerate(self._commit.fields, 1)}}
        for segment, base in self._index.segments:
            own = added[(added >= base) & (added < base + segment.documents)] - base
            rows = SegmentRows(self._index, segment, base, spaces, hashes)
            for start in range(0, len(own), self._size):
                part = own[start : start + self._size]
                self._load(rows, part)
                progress.advance(len(part))

    def _load(self, rows: SegmentRows, part: Integers) -> None:
        """One load, again under other numbers where the connection breaks."""
        for attempt in range(ATTEMPTS):
            load = self._loads.begin(DOCUMENTS, len(part))
            try:
                for columns in rows.postings(part, load.first):
                    self._engine.insert(self._tables.all("postings"), columns)
                    self._beat()
                for about, stored in rows.documents(part, load.first):
                    self._engine.insert(self._tables.all("documents"), about)
                    self._engine.insert(self._tables.all("stored"), stored)
                    self._beat()
            except RankwellError as error:
                if attempt == ATTEMPTS - 1:
                    raise
                log.warning("%s; these documents are sent again", error)
            else:
                self._loads.finish(load)
                return

    def _bury(self, gone: Integers) -> int:
        """Mark documents as dead; the batch is one that no dead writer can have begun."""
        found = self._engine.ask(sql("SELECT max(batch) AS batch FROM {dead}", dead=self._tables.all("dead")))
        batch = int(found["batch"][0]) + 1 if found else 1
        columns = {"document": numbers("UInt32", gone), "batch": numbers("UInt32", np.full(len(gone), batch))}
        self._engine.insert(self._tables.all("dead"), columns)
        return batch

    def _check_complete(self, commit: Commit) -> None:
        """What readers will see must be as many documents as there are."""
        reader = ClickHouseIndex(self._engine, self._tables, commit)
        statement = sql(
            "SELECT count() AS n FROM {all} WHERE {live}", all=self._tables.all("documents"), live=reader.where()
        )
        found = int(self._engine.ask(statement)["n"][0])
        if found != len(self._index):
            raise RankwellError(
                f"{self._engine.address}: expected {len(self._index):,} documents, found {found:,}: nothing was "
                "committed; has somebody else changed the tables?"
            )

    def _count_terms(self, commit: Commit) -> None:
        """In how many documents each term is: counted by all shards together, kept on every server."""
        terms = self._tables.own("terms")
        found = self._engine.ask_each(sql("SELECT DISTINCT commit FROM {terms}", terms=terms))
        kept = range(commit.commit - KEPT + 1, commit.commit)
        for number in sorted({int(one) for answer in found for one in answer.get("commit", ())} - set(kept)):
            self._engine.run_each(sql("ALTER TABLE {terms} DROP PARTITION {commit}", terms=terms, commit=number))
        reader = ClickHouseIndex(self._engine, self._tables, commit)
        statement = sql(
            "SELECT toUInt32({commit}) AS commit, field, toString(term) AS term, toUInt32(count()) AS documents "
            "FROM {postings} WHERE {live} GROUP BY field, term",
            commit=commit.commit,
            postings=self._tables.all("postings"),
            live=reader.where(),
        )
        self._engine.copy_each(statement, terms)

    def _publish(self, commit: Commit) -> None:
        """The commit itself, on every server that does not have it yet."""
        commits = self._tables.own("commits")
        known = self._engine.ask_each(
            sql("SELECT count() AS n FROM {commits} WHERE commit = {commit}", commits=commits, commit=commit.commit)
        )
        if not all(int(answer["n"][0]) for answer in known):
            columns = {"commit": numbers("UInt32", [commit.commit]), "manifest": texts([text_of(commit)])}
            self._engine.insert_each(commits, columns)


def _settled(index: Index, last: Commit | None, where: str) -> Commit:
    """The commit to be made, as far as the index alone tells."""
    kinds = {}
    for name in index.metadata:
        column = index.columns[name]
        if not isinstance(column, NumberColumn):
            kinds[name] = TEXT
        else:
            kinds[name] = NUMBER if (~np.isnan(column.numbers[index.live])).any() else NONE
    analyzer = index.analyzer.config()
    if last is not None:
        for name, ours, theirs in (
            ("analyzer", analyzer, last.analyzer),
            ("metadata", list(kinds), list(last.metadata)),
        ):
            if ours != theirs:
                raise RankwellError(
                    f"{where}: holds an index with another {name}: expected {theirs}, found {ours}; push into another "
                    "database"
                )
    before = () if last is None else last.fields
    return Commit(
        analyzer,
        tuple(dict.fromkeys((*before, *index.fields))),
        kinds,
        commit=1 if last is None else last.commit + 1,
        documents=len(index),
        averages={**dict.fromkeys(before, 1.0), **index.average_lengths},
        batches=() if last is None else last.batches,
        deaths=0 if last is None else last.deaths,
        vectors=() if last is None else last.vectors,
    )


def _check_hashes(hashes: Hashes) -> None:
    if len(np.unique(hashes)) != len(hashes):
        raise RankwellError("index: two documents have the same hash of 64 bits: change one of them by a character")
