"""Copy an embedded index, its changes and its vectors into ClickHouse."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from rankwell.clickhouse.manifest import DOCUMENTS, STALE, VECTORS, Commit, Load, VectorSet
from rankwell.clickhouse.rows import SegmentRows, document_hashes
from rankwell.clickhouse.tables import GRAPHS, Layout, create_graph
from rankwell.clickhouse.values import numbers, texts, vectors
from rankwell.clickhouse.writing import Pushed, Writer, purged, writing
from rankwell.core import Progress, RankwellError, fingerprint
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.index import Index, NumberColumn
from rankwell.index.protocol import EMPTY, NUMBER, TEXT
from rankwell.vectors import Embeddings, embeddings_of

TOGETHER = 1 << 13  # vectors sent at once
VECTORS_A_LOAD = 1 << 17


def push_vectors(index: Index, writer: Writer, commit: Commit) -> tuple[tuple[VectorSet, ...], int]:
    """Send the missing vectors; return all sets of vectors, and the number sent."""
    sets, sent = [], 0
    before = {of.name: of for of in commit.vectors}
    for there in embeddings_of(index):
        table = _table(there, writer)
        known = before.get(there.name)
        same = known is not None and known.made_with == there.made_with and known.table == table
        kept = known.loads if known is not None and same else ()
        finished = tuple(load for load in kept if load in writer.loads.known)
        of = VectorSet(
            *(there.name, there.model, there.dimensions, dict(there.encoder_settings), there.made_with),
            *(there.field, there.document, there.count, finished, table),
        )
        more = _send(there, writer, commit, of)
        sent += sum(load.size for load in more)
        sets.append(replace(of, loads=(*finished, *(load.load for load in more))))
    return tuple(sets), sent


def _table(there: Embeddings, writer: Writer) -> str:
    """The table for vectors: their own where they have a graph, and the engine supports one."""
    if not there.connected or writer.engine.version < GRAPHS:
        return "vectors"
    name = f"near_{fingerprint([there.name, there.dimensions])[:12]}"
    create_graph(writer.engine, name, there.dimensions, replicated=writer.replicated)
    return name


def _send(there: Embeddings, writer: Writer, commit: Commit, of: VectorSet) -> list[Load]:
    """Send the vectors of documents that have none yet; return the loads."""
    reader, loads = writer.reader(commit), writer.loads
    documents = np.flatnonzero(there.present)
    numbered = reader.ask("SELECT docno, document FROM {all[documents]} WHERE {live}", apart=True, live=reader.where())
    new = dict(numbered.rows("docno", "document"))
    numbers_there = np.array([new[docno] for docno in there.index.docnos(documents).tolist()], dtype=np.int64)
    having = reader.ask(
        "SELECT document FROM {table} WHERE name = {name} AND load IN {loads}",
        apart=True,
        table=reader.engine.all[of.table],
        name=of.name,
        loads=of.loads or (0,),
    )
    missing = ~np.isin(numbers_there, having.integers("document"))
    documents, numbers_there = documents[missing], numbers_there[missing]
    made = []
    for start in range(0, len(documents), VECTORS_A_LOAD):
        end = min(start + VECTORS_A_LOAD, len(documents))
        load = loads.begin(VECTORS, end - start)
        for at in range(start, end, TOGETHER):
            part = slice(at, min(at + TOGETHER, end))
            count = part.stop - part.start
            columns = {
                "name": texts([there.name] * count),
                "document": numbers("UInt32", numbers_there[part]),
                "load": numbers("UInt32", np.full(count, load.load)),
                "vector": vectors(there.vectors(documents[part])),
            }
            writer.send([(of.table, columns)])
        loads.finish(load)
        made.append(load)
    return made


log = logging.getLogger(__name__)

LOAD = 1 << 17  # documents per load, which is complete or not as a whole
ATTEMPTS = 3


def push(
    index: Index,
    address: str,
    *,
    progress: Progress = SILENT,
    load: int = LOAD,
    stale: float = STALE,
    purge: bool = False,
) -> Pushed:
    """Make the index at an address equal to an embedded one: its documents, and the vectors beside it.

    Only differences are sent. After an interruption the same call continues; until it has finished, readers
    see the commit before. A load of `load` documents is complete or not as a whole; a writer without a heartbeat for
    `stale` seconds counts as dead. With `purge` the rows of deleted documents are removed permanently.
    """
    with writing(address, Layout(len(index.metadata), positions=index.positions), stale) as writer:
        done = _push(index, writer, load, progress)
        return purged(writer, done) if purge else done


def _push(index: Index, writer: Writer, size: int, progress: Progress) -> Pushed:
    """Push while the lock is held."""
    following = _following(index, writer)
    source = fingerprint([index.fingerprint(), [there.fingerprint() for there in embeddings_of(index)]])
    if writer.last is not None and writer.last.source == source:
        return writer.unchanged(writer.last)
    hashes = document_hashes(index)
    wanted = np.flatnonzero(index.live)
    if len(np.unique(hashes[wanted])) != len(wanted):
        raise RankwellError("index: two documents have the same hash of 64 bits: change one of them by a character")
    there, their_hashes = writer.there(following)
    added = wanted[~np.isin(hashes[wanted], their_hashes)]
    gone = there[~np.isin(their_hashes, hashes[wanted])]
    progress.total = len(added)
    for segment, base in index.segments:
        own = added[(added >= base) & (added < base + segment.documents)] - base
        rows = SegmentRows(index, segment, base, writer.fields.spaces, hashes)
        for start in range(0, len(own), size):
            part = own[start : start + size]
            _send_documents(writer, rows, part)
            progress.advance(len(part))
    commit = writer.bury(replace(writer.seen(following), source=source), gone)
    writer.catch_up(commit)
    sets, vectors = push_vectors(index, writer, commit)
    commit = replace(commit, vectors=sets)
    writer.commit(commit)
    return Pushed(commit.commit, len(added), len(gone), vectors, commit.documents)


def _send_documents(writer: Writer, rows: SegmentRows, part: Integers) -> None:
    """Send one load; again under other numbers where the connection breaks."""
    for attempt in range(1, ATTEMPTS + 1):
        load = writer.loads.begin(DOCUMENTS, len(part))
        try:
            writer.send(rows.all(part, load.first))
        except RankwellError as error:
            if attempt == ATTEMPTS:
                raise
            log.warning("%s; these documents are sent again", error)
        else:
            writer.loads.finish(load)
            return


def _following(index: Index, writer: Writer) -> Commit:
    """The next commit, as far as it follows from the index alone."""
    kinds = {}
    for name in index.metadata:
        column = index.columns[name]
        empty = isinstance(column, NumberColumn) and np.isnan(column.numbers[index.live]).all()
        kinds[name] = EMPTY if empty else NUMBER if isinstance(column, NumberColumn) else TEXT
    made = writer.following(index.analyzer.config(), index.metadata, positions=index.positions)
    writer.fields.give(index.fields)
    fields = writer.fields.names
    averages = {**dict.fromkeys(fields, 1.0), **index.average_lengths}
    return replace(made, fields=fields, metadata=kinds, documents=len(index), averages=averages)
