"""Removing for good what readers pass over: documents that were deleted or replaced, and loads that never finished."""

from __future__ import annotations

import time
from dataclasses import replace

from rankwell.clickhouse.literals import Sql, joined, sql
from rankwell.clickhouse.loads import DOCUMENTS
from rankwell.clickhouse.manifest import Commit
from rankwell.clickhouse.tables import MODERN
from rankwell.clickhouse.writing import Pushed, Writer

LOOK = 0.1  # seconds
BY_DOCUMENT = ("postings", "documents", "stored")


def purged(writer: Writer, done: Pushed) -> Pushed:
    """What was done, and after it a commit without dead rows; nothing more happens where there are none.

    Every server rewrites the parts of its tables that hold some. Who reads an earlier commit misses the documents that
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
            writer.loads.finish(load)  # all of its rows are there: none
    clean = replace(commit, commit=commit.commit + 1, batches=(), deaths=0, holes=writer.loads.holes)
    writer.commit(clean)
    return replace(done, commit=clean.commit, purged=commit.deaths)


def _dead(writer: Writer, commit: Commit) -> Sql:
    """The condition on a document's number not to be seen by anyone."""
    parts = [sql("document >= {first} AND document < {end}", first=first, end=first + n) for first, n in commit.holes]
    if commit.batches:
        dead = writer.tables.own("dead")
        parts.append(
            sql("document IN (SELECT document FROM {dead} WHERE batch IN {batches})", dead=dead, batches=commit.batches)
        )
    return joined("OR", parts)


def _delete(writer: Writer, table: str, condition: Sql) -> None:
    """Remove rows on every server, and wait until they are gone."""
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
