"""Fill an index in ClickHouse directly from documents, with several processes."""

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
from rankwell.clickhouse.manifest import DOCUMENTS, STALE, Commit, Load, VectorSet
from rankwell.clickhouse.rows import Builder, BuildOutcome, Share, document_hash
from rankwell.clickhouse.tables import Layout, metadata_columns
from rankwell.clickhouse.values import Answer, Name, listed, sql
from rankwell.clickhouse.writing import Pushed, Writer, purged, writing
from rankwell.core import Document, ParameterError, Progress, RankwellError
from rankwell.core.progress import SILENT
from rankwell.index import with_metadata_names
from rankwell.index.protocol import EMPTY, NUMBER, TEXT
from rankwell.index.store import as_stored

log = logging.getLogger(__name__)

LOAD = 1 << 14  # documents per task of a worker, complete or not as a whole
ATTEMPTS = 3
AHEAD = 2  # waiting shares per worker
PATIENCE = 5.0  # seconds between two heartbeats


def push_documents(
    documents: Iterable[Document],
    address: str,
    *,
    analyzer: Analyzer | None = None,
    metadata: Sequence[str] | None = None,
    positions: bool = False,
    workers: int | None = None,
    progress: Progress = SILENT,
    load: int = LOAD,
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
        builder = Builder(writer.engine.address, config, names, positions)
        filling = _Filling(writer, builder, commit, progress)
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
        if len({document.id for document in portion}) < len(portion):
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
        return document_hash(as_stored(document))


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
        kinds[name] = TEXT if texts else NUMBER if numbers else EMPTY
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
