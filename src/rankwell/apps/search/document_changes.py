"""Requested changes of documents, their outcome, and merging in the background."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Thread
from typing import NamedTuple

import orjson

from rankwell.apps.search.process import step_back
from rankwell.core import Document, ParameterError, RankwellError
from rankwell.index import IndexWriter, MergeJob


class IndexBusyError(RankwellError):
    """Another process writes to the index; try again after `retry_after` seconds."""

    retry_after = 5


class NotWrittenError(RankwellError):
    """The disk refused a commit: it is full or read-only. Nothing of the request was stored."""

    retry_after = 30


class WritesFullError(RankwellError):
    """Too many changes are waiting already."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"index: {waiting:,} changes wait to be written already: try again in {retry_after} s")


class WriterClosedError(RankwellError):
    """The server is stopping and takes no changes."""

    retry_after = 5


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
    docno = change.id
    if not isinstance(docno, str) or not docno or "\0" in docno or not _whole(docno):
        raise ParameterError("id", expected="a text of at least one character and no NUL", found=docno)
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


log = logging.getLogger(__name__)

AFTER_FAILURE = 60.0  # seconds before the next attempt


class BackgroundMerge:
    """At most one merge at a time, in a low-priority thread, which calls `wake` at its end.

    A dropped merge runs to its end, but its result is not used: the next writer removes the file.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._job: MergeJob | None = None
        self._ended: MergeJob | None = None
        self._not_before = 0.0

    @property
    def running(self) -> bool:
        """Whether a merge is running, or finished but not committed."""
        return self._job is not None

    @property
    def finished(self) -> bool:
        """Whether a merge is finished and can be committed."""
        return self._job is not None and self._ended is self._job

    @property
    def ready(self) -> bool:
        """Whether another merge may begin."""
        return self._job is None and time.monotonic() >= self._not_before

    @property
    def documents(self) -> int:
        """Number of documents being merged."""
        job = self._job
        return 0 if job is None else job.documents

    def begin(self, writer: IndexWriter) -> None:
        """Start the merge that is due, if any."""
        self._job = writer.begin_merge()
        if self._job is not None:
            Thread(target=self._run, args=(self._job,), name="rankwell-merge", daemon=True).start()

    def end(self, writer: IndexWriter) -> int:
        """Commit the finished merge and return the commit's number."""
        job, self._job = self._job, None
        assert job is not None  # noqa: S101 -- the caller has checked `finished`
        if job.entry is None:
            self.pause()
        return writer.end_merge(job)

    def drop(self) -> None:
        """Ignore the result of the running merge."""
        self._job = None

    def pause(self) -> None:
        """Begin no merge for a while."""
        self._not_before = time.monotonic() + AFTER_FAILURE

    def _run(self, job: MergeJob) -> None:
        step_back()
        try:
            job.run()
        except Exception as error:  # noqa: BLE001 -- the documents are unchanged
            log.warning("segments of %d documents were not merged: %s", job.documents, error)
        self._ended = job
        self._wake()
