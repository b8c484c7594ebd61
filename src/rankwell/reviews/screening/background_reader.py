"""BERT in the background of the screening pages: reads the records once, and says how far it is."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

from rankwell.core import RankwellError
from rankwell.core.progress import Progress
from rankwell.reviews.screening.meaning import Meaning
from rankwell.reviews.screening.reader import Reader, StoppedError
from rankwell.reviews.screening.store import Project

logger = logging.getLogger(__name__)
THREADS = 1  # of the processor's, so that pages and the ranking always find another
NICENESS = 10  # and that one gives way to them


class ReadSoFar(NamedTuple):
    """How far the reading is; `trouble` says why it is off."""

    model: str
    read: int
    total: int
    trouble: str = ""

    @property
    def finished(self) -> bool:
        """Whether every record was read."""
        return not self.trouble and self.read >= self.total


class BackgroundReader:
    """Reads a project's records with a model in a thread of its own; `done` is called when all of them are read.

    What was read is on the disk (`VectorCache`): a later start goes on where this one ended, whatever ended it.
    """

    def __init__(self, project: Project, model: str, done: Callable[[], None]) -> None:
        self._project, self._model, self._done = project, model, done
        self._progress = Progress("reading", quiet=True, total=0)
        self._trouble = ""
        self._meaning: tuple[tuple[int, str], Meaning] | None = None
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="reading", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._wake.set()
        self._thread.start()

    def changed(self) -> None:
        """Records were imported, or the title is another."""
        self._wake.set()

    def close(self) -> None:
        """Stop after the texts that are being read."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(10)

    @property
    def so_far(self) -> ReadSoFar:
        """How far it is."""
        return ReadSoFar(self._model, self._progress.count, self._progress.total or 0, self._trouble)

    def meaning(self, records: int, title: str) -> Meaning | None:
        """The vectors of so many records and this title, if they have been read."""
        found = self._meaning
        return found[1] if found is not None and found[0] == (records, title) else None

    def _run(self) -> None:
        if sys.platform == "linux":  # where a thread has a niceness of its own, which those that it starts inherit
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closing:
                return
            try:
                self._read()
            except StoppedError:
                continue
            except RankwellError as error:  # no model, or a library that is not installed: it says what to do
                self._trouble = str(error)
                return
            except Exception as error:  # noqa: BLE001 -- screening goes on without
                logger.warning("%s could not read the records: %s", self._model, type(error).__name__)
                self._trouble = type(error).__name__
                return

    def _read(self) -> None:
        texts, title = self._project.records.texts(), self._project.settings.title
        if not texts or self.meaning(len(texts), title) is not None:
            return
        self._progress = Progress("reading", quiet=True, total=len(texts))
        reader = Reader.open(self._model, threads=THREADS)
        vectors = reader.read(texts, self._progress, stopped=self._interrupted)
        topic = reader.encoder.encode_queries([title])[0]
        self._meaning = (len(texts), title), Meaning(vectors, topic, self._model)
        self._done()

    def _interrupted(self) -> bool:
        """Whether to stop, or to look again at what there is to read."""
        return self._closing or self._wake.is_set()
