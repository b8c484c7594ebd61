"""Fill an index in ClickHouse: copy an embedded index, or push documents with several processes."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.clickhouse.manifest import DOCUMENTS, Commit, Layout, Load, VectorSet, metadata_columns
from rankwell.clickhouse.rows import Builder, BuildOutcome, SegmentRows, Share, document_hash, document_hashes
from rankwell.clickhouse.values import Answer, Name, listed, sql
from rankwell.clickhouse.vectors import push_vectors
from rankwell.clickhouse.writing import STALE, Pushed, Writer, purged, writing
from rankwell.core import SILENT, Document, Integers, ParameterError, Progress, RankwellError, check_id, fingerprint
from rankwell.index import Index, NumberColumn, protocol, store, with_metadata_names
from rankwell.vectors import embeddings_of

log = logging.getLogger(__name__)

LOAD = 1 << 17  # documents per load of an index, which is complete or not as a whole
SHARE = 1 << 14  # documents per task of a worker, which is a load of its own
ATTEMPTS = 3
AHEAD = 2  # waiting shares per worker
PATIENCE = 5.0  # seconds between two heartbeats


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
        kinds[name] = (
            protocol.EMPTY if empty else protocol.NUMBER if isinstance(column, NumberColumn) else protocol.TEXT
        )
    made = writer.following(index.analyzer.config(), index.metadata, positions=index.positions)
    writer.fields.give(index.fields)
    fields = writer.fields.names
    averages = {**dict.fromkeys(fields, 1.0), **index.average_lengths}
    return replace(made, fields=fields, metadata=kinds, documents=len(index), averages=averages)


def push_documents(
    documents: Iterable[Document],
    address: str,
    *,
    analyzer: Analyzer | None = None,
    metadata: Sequence[str] | None = None,
    positions: bool = False,
    workers: int | None = None,
    progress: Progress = SILENT,
    load: int = SHARE,
    stale: float = STALE,
    purge: bool = False,
) -> Pushed:
    """Make the index at an address contain exactly these documents, whose ids must differ.

    The result equals that of `push` with an index of the same documents, also when it is repeated or continued after
    an interruption: existing documents are not sent again, and those not among the documents are deleted.
    `workers` processes (default: the number of cores) analyse and send `load` documents at a time. `metadata` names the
    columns; None: those of the first documents. Vectors of remaining documents are kept.
    """
    if load < 1:
        raise ParameterError("load", expected="a number of documents, at least 1", found=load)
    if workers is not None and workers < 1:
        raise ParameterError("workers", expected="a number of processes, at least 1", found=workers)
    following: Iterable[Document] = documents
    if metadata is None:
        metadata, following = with_metadata_names(documents)
    names = tuple(dict.fromkeys(metadata))
    config = (analyzer or Analyzer()).config()
    with writing(address, Layout(len(names), positions=positions), stale) as writer:
        commit = writer.following(config, names, positions=positions)
        filling = _Filling(writer, Builder(writer.engine.address, config, names, positions), commit, progress)
        filling.fill(_portions(following, load), workers or os.cpu_count() or 1)
        done = filling.finish()
        return purged(writer, done) if purge else done


@dataclass
class _Waiting:
    """A share that a worker is sending."""

    documents: list[Document]
    load: Load
    attempt: int
    whole: int  # documents of its portion, including existing ones


class _Filling:
    """One push, while the lock is held."""

    def __init__(self, writer: Writer, builder: Builder, commit: Commit, progress: Progress) -> None:
        self._writer, self._builder, self._commit, self._progress = writer, builder, commit, progress
        numbers, hashes = writer.there(commit)
        order = np.argsort(hashes)
        self._there, self._hashes = numbers[order], hashes[order]
        self._wanted = np.zeros(len(order), dtype=bool)
        self._pool: Executor | None = None
        self._waiting: dict[Future[BuildOutcome], _Waiting] = {}
        self._added = self._count = 0

    def fill(self, portions: Iterator[list[Document]], workers: int) -> None:
        """Send the missing documents; a single portion needs no worker process."""
        first = list(islice(portions, 2))
        if workers == 1 or len(first) == 1:
            for portion in chain(first, portions):
                self._take(portion)
            return
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as self._pool:
            try:
                for portion in chain(first, portions):
                    self._take(portion)
                    while len(self._waiting) > AHEAD * workers:
                        self._collect()
                while self._waiting:
                    self._collect()
            except BrokenProcessPool:
                raise RankwellError(
                    f"{self._writer.engine.address}: a worker died (too little memory?); what was sent is kept, and "
                    "the same push goes on from there"
                ) from None
            finally:
                self._pool.shutdown(cancel_futures=True)

    def finish(self) -> Pushed:
        """Commit, if anything has changed."""
        writer, last = self._writer, self._writer.last
        gone = self._there[~self._wanted]
        if last is not None and not self._added and not len(gone) and last.limit == writer.loads.limit:
            return writer.unchanged(last)
        commit = writer.bury(replace(writer.seen(self._commit), fields=writer.fields.names, source=""), gone)
        writer.catch_up(commit)
        commit = replace(commit, documents=self._count)
        commit = replace(commit, averages=_averages(writer, commit), metadata=_kinds(writer, commit))
        commit = replace(commit, vectors=tuple(_counted(writer, commit, of) for of in commit.vectors))
        writer.commit(commit)
        return Pushed(commit.commit, self._added, len(gone), 0, commit.documents)

    def _take(self, portion: list[Document]) -> None:
        """Record the existing documents, and send the rest. Ids that occur in two portions are detected at the end."""
        if len({check_id(document.id) for document in portion}) < len(portion):
            twice = Counter(document.id for document in portion).most_common(1)[0][0]
            raise RankwellError(f"documents: expected an id of its own for each, found {twice!r} twice")
        hashes = np.array([_hash(document) for document in portion], dtype=np.uint64)
        places = np.searchsorted(self._hashes, hashes)
        known = places < len(self._hashes)
        known[known] = self._hashes[places[known]] == hashes[known]
        self._wanted[places[known]] = True
        new = [document for document, there in zip(portion, known.tolist(), strict=True) if not there]
        self._count += len(portion)
        self._added += len(new)
        if not new:
            self._progress.advance(len(portion))
            return
        self._writer.fields.give(name for document in new for name, text in document.fields.items() if text)
        self._send(new, 1, len(portion))

    def _send(self, documents: list[Document], attempt: int, whole: int) -> None:
        """Send by a worker, or in this process."""
        writer = self._writer
        waiting = _Waiting(documents, writer.loads.begin(DOCUMENTS, len(documents)), attempt, whole)
        plain = [(of.id, dict(of.fields), dict(of.metadata)) for of in documents]
        share = Share(plain, writer.fields.spaces, waiting.load.first)
        writer.beat()
        if self._pool is None:
            self._end(waiting, self._builder(share))
        else:
            self._waiting[self._pool.submit(self._builder, share)] = waiting

    def _collect(self) -> None:
        """Handle finished shares."""
        done, _ = wait(self._waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        self._writer.beat()
        for future in done:
            self._end(self._waiting.pop(future), future.result())

    def _end(self, of: _Waiting, outcome: BuildOutcome) -> None:
        """Finish a share, or send it again under other numbers after a failure, as it is unknown what has arrived."""
        error = outcome.error
        try:
            self._writer.send(outcome.rows)
        except RankwellError as broken:
            error = str(broken)
        if not error:
            self._writer.loads.finish(of.load)
            self._progress.advance(of.whole)
        elif of.attempt < ATTEMPTS:
            log.warning("%s; these documents are sent again", error)
            self._send(of.documents, of.attempt + 1, of.whole)
        else:
            raise RankwellError(error)


def _portions(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    following = iter(documents)
    while portion := list(islice(following, size)):
        yield portion


def _hash(document: Document) -> int:
    try:
        return document_hash([document.id, dict(document.fields), dict(document.metadata)])
    except (TypeError, ValueError):
        return document_hash(store.as_stored(document))


def _averages(writer: Writer, commit: Commit) -> dict[str, float]:
    """The mean length of each field over the documents with it, as in `Index.average_lengths`."""
    lengths = writer.engine.ask(
        "SELECT field, count() AS holders, toUInt64(sum(length)) AS tokens FROM {all[documents]} "
        "ARRAY JOIN fields AS field, lengths AS length WHERE {live} GROUP BY field",
        live=writer.reader(commit).where(),
    )
    counts = {field: (holders, tokens) for field, holders, tokens in lengths.rows("field", "holders", "tokens")}
    everything = sum(tokens for _, tokens in counts.values())
    averages = {"": everything / commit.documents if everything else 1.0}
    for place, name in enumerate(commit.fields, 1):
        holders, tokens = counts.get(place, (0, 0))
        averages[name] = tokens / holders if tokens else 1.0
    return averages


def _kinds(writer: Writer, commit: Commit) -> dict[str, str]:
    """The kind of each metadata column: text as soon as one document has a value that is not a number."""
    counts = [
        sql(
            "countIf(NOT isNaN({number})) AS {numbers}, countIf(isNaN({number}) AND isNotNull({text})) AS {texts}",
            number=Name(metadata_columns(place)[0]),
            text=Name(metadata_columns(place)[1]),
            numbers=Name(f"numbers{place}"),
            texts=Name(f"texts{place}"),
        )
        for place in range(len(commit.metadata))
    ]
    live = writer.reader(commit).where()
    answer = Answer()
    if counts:
        answer = writer.engine.ask("SELECT {n} FROM {all[documents]} WHERE {live}", n=listed(counts), live=live)
    kinds = {}
    for place, name in enumerate(commit.metadata):
        texts, numbers = (bool(answer) and answer.number(f"{kind}{place}") for kind in ("texts", "numbers"))
        kinds[name] = protocol.TEXT if texts else protocol.NUMBER if numbers else protocol.EMPTY
    return kinds


def _counted(writer: Writer, commit: Commit, of: VectorSet) -> VectorSet:
    """The vectors of documents that still exist."""
    answer = writer.engine.ask(
        "SELECT count() AS n FROM {table} WHERE name = {name} AND load IN {loads} AND {live}",
        table=writer.engine.all[of.table],
        name=of.name,
        loads=of.loads or (0,),
        live=writer.reader(commit).where(),
    )
    return replace(of, count=answer.number("n"))
