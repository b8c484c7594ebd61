"""Copying an embedded index into ClickHouse, and later what has changed in it."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from rankwell.clickhouse.columns import NONE, NUMBER, TEXT
from rankwell.clickhouse.loads import DOCUMENTS
from rankwell.clickhouse.lock import STALE
from rankwell.clickhouse.manifest import Commit
from rankwell.clickhouse.purge import purged
from rankwell.clickhouse.push_vectors import push_vectors
from rankwell.clickhouse.rows import Hashes, SegmentRows, document_hashes
from rankwell.clickhouse.tables import Layout
from rankwell.clickhouse.writing import Pushed, Writer, writing
from rankwell.core import Progress, RankwellError, fingerprint
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.dense import embeddings_of
from rankwell.index import Index, NumberColumn

log = logging.getLogger(__name__)

LOAD = 1 << 17  # documents that are complete or not as one
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

    Only what differs is sent. Whatever ends it, the same call goes on where it stopped; until it has finished, readers
    see the commit before. `load` documents at a time are complete or not; a writer that gave no sign of life for
    `stale` seconds is taken for dead. With `purge` the rows of deleted documents are removed for good.
    """
    layout = Layout(len(index.metadata), positions=index.positions)
    with writing(address, layout, stale) as writer:
        done = _Push(index, writer, load)(progress)
        return purged(writer, done) if purge else done


class _Push:
    """One push, while the lock is held."""

    def __init__(self, index: Index, writer: Writer, size: int) -> None:
        self._index, self._writer, self._size = index, writer, size
        self._commit = _settled(index, writer)

    def __call__(self, progress: Progress) -> Pushed:
        index, writer = self._index, self._writer
        last = writer.last
        source = fingerprint([index.fingerprint(), [there.fingerprint() for there in embeddings_of(index)]])
        if last is not None and last.source == source:
            writer.publish(last)
            return Pushed(last.commit, 0, 0, 0, last.documents)
        hashes = document_hashes(index)
        wanted = np.flatnonzero(index.live)
        _check_hashes(hashes[wanted])
        there, their_hashes = writer.there(self._commit)
        added = wanted[~np.isin(hashes[wanted], their_hashes)]
        gone = there[~np.isin(their_hashes, hashes[wanted])]
        progress.total = len(added)
        self._add(added, hashes, progress)
        commit = writer.bury(replace(writer.seen(self._commit), source=source), gone)
        writer.catch_up(commit)
        sets, vectors = push_vectors(index, writer, commit)
        commit = replace(commit, vectors=sets)
        writer.commit(commit)
        return Pushed(commit.commit, len(added), len(gone), vectors, commit.documents)

    def _add(self, added: Integers, hashes: Hashes, progress: Progress) -> None:
        """Send documents, load by load."""
        for segment, base in self._index.segments:
            own = added[(added >= base) & (added < base + segment.documents)] - base
            rows = SegmentRows(self._index, segment, base, self._writer.fields.spaces, hashes)
            for start in range(0, len(own), self._size):
                part = own[start : start + self._size]
                self._load(rows, part)
                progress.advance(len(part))

    def _load(self, rows: SegmentRows, part: Integers) -> None:
        """One load, again under other numbers where the connection breaks."""
        writer = self._writer
        for attempt in range(ATTEMPTS):
            load = writer.loads.begin(DOCUMENTS, len(part))
            try:
                for table, columns in rows.all(part, load.first):
                    writer.engine.insert(writer.tables.all(table), columns)
                    writer.beat()
            except RankwellError as error:
                if attempt == ATTEMPTS - 1:
                    raise
                log.warning("%s; these documents are sent again", error)
            else:
                writer.loads.finish(load)
                return


def _settled(index: Index, writer: Writer) -> Commit:
    """The commit to be made, as far as the index alone tells."""
    made = writer.following(index.analyzer.config(), index.metadata, positions=index.positions)
    kinds = {}
    for name in index.metadata:
        column = index.columns[name]
        if not isinstance(column, NumberColumn):
            kinds[name] = TEXT
        else:
            kinds[name] = NUMBER if (~np.isnan(column.numbers[index.live])).any() else NONE
    writer.fields.give(index.fields)
    fields = writer.fields.names
    averages = {**dict.fromkeys(fields, 1.0), **index.average_lengths}
    return replace(made, fields=fields, metadata=kinds, documents=len(index), averages=averages)


def _check_hashes(hashes: Hashes) -> None:
    if len(np.unique(hashes)) != len(hashes):
        raise RankwellError("index: two documents have the same hash of 64 bits: change one of them by a character")
