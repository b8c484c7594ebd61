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
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
from typing import NamedTuple

import orjson

from rankwell.apps.search.process import settle, step_back
from rankwell.core import Document, ParameterError, RankwellError, check_id
from rankwell.index import IndexWriter, MergeJob

log = logging.getLogger(__name__)

GROUP = 5_000  # changes per commit, or more where a single request has more
WAITING = 20_000  # changes that may wait
CHARACTERS = 200_000_000  # characters in the texts of waiting changes
MERGED_AT_ONCE = 2_000  # documents: larger merges run beside the commits
IDLE = 1.0  # seconds without work after which the index is released
PATIENCE = 2.0  # seconds to wait for another process that writes
PAUSE = 0.05
AFTER_FAILURE = 60.0  # seconds before the next attempt to merge


class IndexBusyError(RankwellError):
    """Another process writes to the index; try again after `retry_after` seconds."""

    status, retry_after = 409, 5


class NotWrittenError(RankwellError):
    """The disk refused a commit: it is full or read-only. Nothing of the request was stored."""

    status, retry_after = 503, 30


class NotVisibleError(RankwellError):
    """The changes are on the disk, but the new commit cannot be opened for searches yet."""

    status, retry_after = 503, 5


class WritesFullError(RankwellError):
    """Too many changes are waiting already."""

    status = 503

    def __init__(self, waiting: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"index: {waiting:,} changes wait to be written already: try again in {retry_after} s")


class WriterClosedError(RankwellError):
    """The server is stopping and takes no changes."""

    status, retry_after = 503, 5


class Deletion(NamedTuple):
    """A request to delete the document of this id."""

    id: str


Change = Document | Deletion


class Written(NamedTuple):
    """The outcome of a request and its commit, which is on the disk and visible to searches."""

    commit: int
    created: int = 0
    replaced: int = 0
    deleted: int = 0
    missing: int = 0  # deletions of documents that did not exist


@dataclass(eq=False)
class WriteRequest:
    """Changes that are made together or not at all."""

    changes: Sequence[Change]
    future: Future[Written] = field(default_factory=Future)

    @property
    def characters(self) -> int:
        """Number of characters, as an estimate of the memory."""
        return sum(
            sum(map(len, change.fields.values())) if isinstance(change, Document) else 0 for change in self.changes
        )


def check_change(change: Change) -> None:
    """Refuse what the index would refuse, while it is known which request it is from."""
    docno = check_id(change.id)
    if isinstance(change, Deletion):
        return
    for name, text in change.fields.items():
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise ParameterError("fields", expected=f"texts by name in document {docno!r}", found={name: text})
        if not _whole(name) or not _whole(text):
            raise ParameterError("fields", expected=f"texts of whole characters in document {docno!r}", found=name)
    if not isinstance(change.metadata, Mapping):
        raise ParameterError("metadata", expected=f"values by name in document {docno!r}", found=change.metadata)
    try:
        orjson.dumps(dict(change.metadata))
    except (TypeError, orjson.JSONEncodeError) as error:
        expected = f"values that JSON has in document {docno!r}"
        raise ParameterError("metadata", expected=expected, found=dict(change.metadata)) from error


def _whole(text: str) -> bool:
    """Whether a text can be encoded: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class DocumentsWriter:
    """The only writer to the index of a server.

    writer = DocumentsWriter("index/papers", committed=searcher.reopen)
    writer.put([Document("d1", {"title": "Fever"})]).result()      # Written(commit=8, created=1, ...)

    `committed` is called with the number of each commit before the request is answered: whoever was answered finds
    what they wrote. A future raises NotWrittenError or IndexBusyError where nothing was stored, and NotVisibleError
    where `committed` raised an error of ours.
    """

    def __init__(self, path: Path | str, committed: Callable[[int], None] = lambda _: None) -> None:
        self.path, self._committed = Path(path), committed
        self._requests: deque[WriteRequest] = deque()
        self._changed = Condition()
        self._closed = False
        self._writer: IndexWriter | None = None
        self._merge: MergeJob | None = None  # runs in a thread of its own, or has ended and is not committed
        self._merged: MergeJob | None = None  # the merge that has ended
        self._no_merge_before = 0.0
        self._speed = 1000.0  # changes per second, as measured last
        self.commits = 0
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
        job = self._merge
        return 0 if job is None else job.documents

    def close(self) -> None:
        """Refuse new changes, write those that wait, and release the index."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            group = self._next_group()
            if group:
                self._write(group)
            elif self._merge_has_ended():
                self._end_merge()
            elif self._closed or self._merge is None:
                self._let_go()
            if self._closed and not self._requests:
                self._let_go()
                return

    def _merge_has_ended(self) -> bool:
        return self._merge is not None and self._merged is self._merge

    def _next_group(self) -> list[WriteRequest]:
        """The requests of the next commit; none where a merge has finished, or after a while without requests."""
        with self._changed:
            if not (self._requests or self._closed or self._merge_has_ended()):
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
            results = self._commit(group)
        except Exception as error:  # noqa: BLE001 -- passed on to the callers
            self._let_go()
            if len(group) > 1 and not isinstance(error, (IndexBusyError, NotWrittenError, NotVisibleError)):
                for request in group:
                    self._write([request])
                return
            for request in group:
                settle(request.future, error)
            return
        self._speed = sum(len(request.changes) for request in group) / max(time.perf_counter() - begun, 1e-6)
        for request, written in zip(group, results, strict=True):
            settle(request.future, written)
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
        try:
            self._committed(commit)
        except RankwellError as error:
            raise NotVisibleError(f"commit {commit} is kept, but cannot be searched yet: {error}") from error
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
        """Start the merge that is due, if any, in a thread of its own."""
        if self._writer is None or self._merge is not None or time.monotonic() < self._no_merge_before:
            return
        try:
            self._merge = self._writer.begin_merge()
        except RankwellError as error:
            self._merge_failed(error)
        if self._merge is not None:
            Thread(target=self._run_merge, args=(self._merge,), name="rankwell-merge", daemon=True).start()

    def _run_merge(self, job: MergeJob) -> None:
        step_back()
        try:
            job.run()
        except Exception as error:  # noqa: BLE001 -- the documents are unchanged
            log.warning("segments of %d documents were not merged: %s", job.documents, error)
        with self._changed:
            self._merged = job
            self._changed.notify()

    def _end_merge(self) -> None:
        """Commit the merge that has ended; the next tier may be full then."""
        job, self._merge = self._merge, None
        if self._writer is None or job is None:
            return
        if job.entry is None:  # it failed
            self._no_merge_before = time.monotonic() + AFTER_FAILURE
        try:
            commit = self._writer.end_merge(job)
        except RankwellError as error:
            self._merge_failed(error)
        else:
            with contextlib.suppress(RankwellError):  # told by whoever raised it; nothing has changed for searches
                self._committed(commit)
        self._begin_merge()

    def _merge_failed(self, error: RankwellError) -> None:
        """Log the failure. The documents are safe; searching many segments only takes longer."""
        log.warning("%s: segments were not merged: %s", self.path, error)
        self._no_merge_before = time.monotonic() + AFTER_FAILURE
        self._let_go()

    def _let_go(self) -> None:
        """Release the index; the next request opens it again.

        A running merge runs to its end, but its result is not used: the next writer removes the file.
        """
        self._merge = None
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
