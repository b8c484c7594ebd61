"""Merging large segments while commits go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Thread

from rankwell.index import IndexWriter, MergeJob
from rankwell.serve.priority import step_back

log = logging.getLogger(__name__)

AFTER_FAILURE = 60.0  # seconds before the next try


class BackgroundMerge:
    """At most one merge at a time, in a thread that steps back; `wake` is called from it when it has ended.

    A job that is dropped goes on until its end, but nobody looks at what it made: the next writer removes the file.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._job: MergeJob | None = None
        self._ended: MergeJob | None = None
        self._not_before = 0.0

    @property
    def running(self) -> bool:
        """Whether there is a merge that has not been taken over."""
        return self._job is not None

    @property
    def finished(self) -> bool:
        """Whether there is one to take over."""
        return self._job is not None and self._ended is self._job

    @property
    def ready(self) -> bool:
        """Whether another may begin."""
        return self._job is None and time.monotonic() >= self._not_before

    @property
    def documents(self) -> int:
        """How many documents are being merged."""
        job = self._job
        return 0 if job is None else job.documents

    def begin(self, writer: IndexWriter) -> None:
        """Start the merge that is due, if there is one."""
        self._job = writer.begin_merge()
        if self._job is not None:
            Thread(target=self._run, args=(self._job,), name="rankwell-merge", daemon=True).start()

    def end(self, writer: IndexWriter) -> int:
        """Commit what was made."""
        job, self._job = self._job, None
        assert job is not None  # noqa: S101 -- `finished` was asked
        if job.entry is None:
            self.pause()
        return writer.end_merge(job)

    def drop(self) -> None:
        """Forget the merge that runs."""
        self._job = None

    def pause(self) -> None:
        """Begin none for a while."""
        self._not_before = time.monotonic() + AFTER_FAILURE

    def _run(self, job: MergeJob) -> None:
        step_back()
        try:
            job.run()
        except Exception as error:  # noqa: BLE001 -- the documents are where they were
            log.warning("segments of %d documents were not merged: %s", job.documents, error)
        self._ended = job
        self._wake()
