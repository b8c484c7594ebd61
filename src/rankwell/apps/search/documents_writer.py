"""Add, replace and delete documents while the index is searched; a change is answered when it is on the disk.

One thread owns the writer of the index. Requests that come during a commit wait for the next one and share it: the
more come at once, the fewer commits each of them costs. Small segments are merged in the commit, large ones by
another thread beside it. After a second without work the writer releases the index, so that a command can change
it too.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from threading import Condition, Thread

from rankwell.apps.search.document_changes import (
    BackgroundMerge,
    Change,
    Deletion,
    IndexBusyError,
    NotWrittenError,
    WriterClosedError,
    WriteRequest,
    WritesFullError,
    Written,
    check_change,
)
from rankwell.core import Document, RankwellError
from rankwell.index import IndexWriter

log = logging.getLogger(__name__)

GROUP = 5_000  # changes per commit, or more where a single request has more
WAITING = 20_000  # changes that may wait
CHARACTERS = 200_000_000  # characters in the texts of waiting changes
MERGED_AT_ONCE = 2_000  # documents: larger merges run beside the commits
IDLE = 1.0  # seconds without work after which the index is released
PATIENCE = 2.0  # seconds to wait for another process that writes
PAUSE = 0.05


class DocumentsWriter:
    """The only writer to the index of a server.

    writer = DocumentsWriter("index/papers", committed=searcher.reopen)
    writer.put([Document("d1", {"title": "Fever"})]).result()      # Written(commit=8, created=1, ...)

    `committed` is called with the number of each commit before the request is answered: whoever was answered finds
    what they wrote. A future raises NotWrittenError or IndexBusyError where nothing was stored.
    """

    def __init__(self, path: Path | str, committed: Callable[[int], None] = lambda _: None) -> None:
        self.path, self._committed = Path(path), committed
        self._requests: deque[WriteRequest] = deque()
        self._changed = Condition()
        self._closed = False
        self._writer: IndexWriter | None = None
        self._merge = BackgroundMerge(self._wake)
        self._speed = 1000.0  # changes per second, as measured last
        self.commits = self.failures = 0
        self._thread = Thread(target=self._work, name="rankwell-documents", daemon=True)
        self._thread.start()

    def put(self, documents: Iterable[Document]) -> Future[Written]:
        """Add documents, each replacing one of the same id: all of them or none."""
        return self.change(list(documents))

    def delete(self, docnos: Iterable[str]) -> Future[Written]:
        """Delete documents; unknown ids are counted as missing."""
        return self.change([Deletion(docno) for docno in docnos])

    def change(self, changes: Sequence[Change]) -> Future[Written]:
        """Make changes in the given order: all of them or none."""
        for change in changes:
            check_change(change)
        request = WriteRequest(changes)
        with self._changed:
            if self._closed:
                raise WriterClosedError("index: the server is stopping")
            waiting = self.waiting
            large = sum(other.characters for other in self._requests) + request.characters > CHARACTERS
            if waiting and (waiting + len(changes) > WAITING or large):
                raise WritesFullError(waiting, max(1, math.ceil(waiting / self._speed)))
            self._requests.append(request)
            self._changed.notify()
        return request.future

    @property
    def waiting(self) -> int:
        """Number of changes that wait to be written."""
        return sum(len(request.changes) for request in list(self._requests))

    @property
    def merging(self) -> int:
        """Number of documents being merged beside the commits."""
        return self._merge.documents

    def close(self) -> None:
        """Refuse new changes, write those that wait, and release the index."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _work(self) -> None:
        while True:
            group = self._next_group()
            if group:
                self._write(group)
            elif self._merge.finished:
                self._end_merge()
            elif self._closed or not self._merge.running:
                self._let_go()
            if self._closed and not self._requests:
                self._let_go()
                return

    def _next_group(self) -> list[WriteRequest]:
        """The requests of the next commit; none where a merge has finished, or after a while without requests."""
        with self._changed:
            if not (self._requests or self._closed or self._merge.finished):
                self._changed.wait(IDLE if self._writer is not None else None)
            group: list[WriteRequest] = []
            changes = 0
            while self._requests and (not group or changes + len(self._requests[0].changes) <= GROUP):
                group.append(self._requests.popleft())
                changes += len(group[-1].changes)
            return group

    def _write(self, group: list[WriteRequest]) -> None:
        """Write all requests in one commit; after an unexpected error, one commit each, so that only one fails."""
        begun = time.perf_counter()
        try:
            found = self._commit(group)
        except Exception as error:  # noqa: BLE001 -- passed on to the callers
            self.failures += 1
            self._drop_writer()
            if len(group) > 1 and not isinstance(error, (IndexBusyError, NotWrittenError)):
                for request in group:
                    self._write([request])
                return
            for request in group:
                _tell(request, error)
            return
        self._speed = sum(len(request.changes) for request in group) / max(time.perf_counter() - begun, 1e-6)
        for request, written in zip(group, found, strict=True):
            _tell(request, written)
        self._begin_merge()

    def _commit(self, group: list[WriteRequest]) -> list[Written]:
        writer = self._open()
        try:
            counts = [_apply(writer, request.changes) for request in group]
            commit = writer.commit(largest_merge=MERGED_AT_ONCE)
        except RankwellError as error:
            if isinstance(error.__cause__, OSError):
                raise NotWrittenError(str(error)) from error
            raise
        self.commits += 1
        self._committed(commit)
        return [written._replace(commit=commit) for written in counts]

    def _open(self) -> IndexWriter:
        """Open the writer; wait a short time where a command is writing."""
        end = time.monotonic() + PATIENCE
        while self._writer is None:
            try:
                self._writer = IndexWriter(self.path)
            except RankwellError as error:
                if not isinstance(error.__cause__, OSError):
                    raise
                if not isinstance(error.__cause__, BlockingIOError):
                    raise NotWrittenError(str(error)) from error
                if time.monotonic() > end:
                    raise IndexBusyError(str(error)) from error
                time.sleep(PAUSE)
        return self._writer

    def _begin_merge(self) -> None:
        if self._writer is None or not self._merge.ready:
            return
        try:
            self._merge.begin(self._writer)
        except RankwellError as error:
            self._merge_failed(error)

    def _end_merge(self) -> None:
        try:
            if self._writer is not None:
                self._committed(self._merge.end(self._writer))
                self._begin_merge()  # the next tier may be full now
        except RankwellError as error:
            self._merge_failed(error)

    def _merge_failed(self, error: RankwellError) -> None:
        """Log the failure. The documents are safe; searching many segments only takes longer."""
        log.warning("%s: segments were not merged: %s", self.path, error)
        self._merge.pause()
        self._drop_writer()

    def _drop_writer(self) -> None:
        """Drop the writer after a failure: the last commit is intact, and the next request opens a new writer."""
        self._merge.drop()
        self._let_go()

    def _let_go(self) -> None:
        self._merge.drop()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _apply(writer: IndexWriter, changes: Sequence[Change]) -> Written:
    created = replaced = deleted = missing = 0
    for change in changes:
        there = change.id in writer
        if isinstance(change, Document):
            writer.add(change)
            created, replaced = created + (not there), replaced + there
        else:
            writer.delete(change.id)
            deleted, missing = deleted + there, missing + (not there)
    return Written(0, created, replaced, deleted, missing)


def _tell(request: WriteRequest, answer: Written | Exception) -> None:
    with contextlib.suppress(InvalidStateError):  # no caller waits any more
        if isinstance(answer, Exception):
            request.future.set_exception(answer)
        else:
            request.future.set_result(answer)
