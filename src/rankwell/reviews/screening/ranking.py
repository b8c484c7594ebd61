"""The order in which records are screened, learned in a background thread."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from rankwell.core import Progress, RankwellError
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.learner import Learner
from rankwell.reviews.screening.reader import Meaning, Reader, StoppedError
from rankwell.reviews.screening.store import Project

logger = logging.getLogger(__name__)
THREADS = 1  # of the processor, so that others are free for pages and the ranking
NICENESS = 10  # and this one has a lower priority
AFTER = 0.1  # seconds, so that the response to a decision is sent first


class ReadSoFar(NamedTuple):
    """Progress of the encoding; `trouble` says why it failed."""

    model: str
    read: int
    total: int
    trouble: str = ""

    @property
    def finished(self) -> bool:
        """Whether every record was encoded."""
        return not self.trouble and self.read >= self.total


class BackgroundThread(ABC):
    """A thread that works each time something has changed."""

    def __init__(self, name: str) -> None:
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; it works at once."""
        self.changed()
        self._thread.start()

    def changed(self) -> None:
        """Work again soon, because something was decided, undone or imported."""
        self._wake.set()

    def close(self) -> None:
        """Stop after the current piece of work."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _run(self) -> None:
        while self._wake.wait():
            time.sleep(AFTER)
            self._wake.clear()
            if self._closing or not self._work():
                return

    @abstractmethod
    def _work(self) -> bool:
        """Do what there is to do. False to end the thread."""


class BackgroundReader(BackgroundThread):
    """Encodes a project's records with a model in a background thread; calls `done` when all are encoded.

    Vectors are cached on the disk (`VectorCache`): a later start resumes where this one ended.
    """

    def __init__(self, project: Project, model: str, done: Callable[[], None]) -> None:
        super().__init__("reading")
        self._project, self._model, self._done = project, model, done
        self._progress = Progress("reading", quiet=True, total=0)
        self._trouble = ""
        self._meaning: tuple[tuple[int, str], Meaning] | None = None

    @property
    def so_far(self) -> ReadSoFar:
        """The progress of the encoding."""
        return ReadSoFar(self._model, self._progress.count, self._progress.total or 0, self._trouble)

    def meaning(self, records: int, title: str) -> Meaning | None:
        """The vectors of the first `records` records and this title, if they are computed."""
        latest = self._meaning
        return latest[1] if latest is not None and latest[0] == (records, title) else None

    def _run(self) -> None:
        if sys.platform == "linux":  # where threads have their own niceness, which their children inherit
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        super()._run()

    def _work(self) -> bool:
        try:
            self._read()
        except StoppedError:
            pass
        except RankwellError as error:  # no model, or a library is not installed
            self._trouble = str(error)
        except Exception as error:  # noqa: BLE001 -- screening goes on without
            logger.warning("%s could not read the records: %s", self._model, type(error).__name__)
            self._trouble = type(error).__name__
        return not self._trouble

    def _read(self) -> None:
        texts, title = self._project.records.texts(), self._project.settings.title
        if not texts or self.meaning(len(texts), title) is not None:
            return
        self._progress = Progress("reading", quiet=True, total=len(texts))
        reader = Reader.open(self._model, threads=THREADS)
        # Stop, or start again with new texts.
        vectors = reader.read(texts, self._progress, stopped=lambda: self._closing or self._wake.is_set())
        topic = reader.encoder.encode_queries([title])[0]
        self._meaning = (len(texts), title), Meaning(vectors, topic, self._model)
        self._done()


Version: TypeAlias = tuple[int, str]
"""How many records there are, and the review's title."""


class Order(NamedTuple):
    """Records, most promising first, the number of decisions learned from, and the encoding model (or none)."""

    records: tuple[int, ...]
    learned: int
    model: str = ""


class LiveRanking(BackgroundThread):
    """Learns again after every decision in a background thread; callers get the last finished order.

    Each reviewer has an own order, learned from their own decisions only.
    `maybe` is ignored. With a `model` (BERT) the records are also encoded in the background; until then, words
    alone decide.
    """

    def __init__(self, project: Project, model: str | None = None) -> None:
        super().__init__("ranking")
        self._project = project
        self._reader = BackgroundReader(project, model, self.changed) if model else None
        self._orders: dict[int, Order] = {}
        self._learner: tuple[Version, Learner | None] = ((0, ""), None)
        self._taught: dict[int, tuple[object, ...]] = {}
        self._idle = threading.Event()

    def start(self) -> None:
        """Start the background threads."""
        super().start()
        if self._reader is not None:
            self._reader.start()

    def changed(self) -> None:
        """Learn again soon, because something was decided, undone or imported."""
        self._idle.clear()
        super().changed()

    @property
    def reading(self) -> ReadSoFar | None:
        """Progress of the encoding; None without a model."""
        return None if self._reader is None else self._reader.so_far

    def order(self, reviewer: int) -> Order:
        """The last finished order. Records imported later come last."""
        last = self._orders.get(reviewer, Order((), 0))
        count = self._project.records.count()
        if len(last.records) == count:
            return last
        return last._replace(records=(*last.records, *range(len(last.records) + 1, count + 1)))

    def wait(self, seconds: float) -> bool:
        """Wait until all earlier decisions are learned; for tests and measurements."""
        return self._idle.wait(seconds)

    def close(self) -> None:
        """Stop after the current training."""
        if self._reader is not None:
            self._reader.close()
        super().close()

    def _work(self) -> bool:
        try:
            self._learn()
        except Exception as error:  # noqa: BLE001 -- screening goes on with the order there is
            logger.warning("the ranking could not learn: %s", type(error).__name__)
        if not self._wake.is_set():
            self._idle.set()
        return True

    def _learn(self) -> None:
        learner = self._current_learner()
        if learner is None:
            return
        for reviewer, _ in self._project.reviewers():
            given = self._project.decisions.of(reviewer).values()
            decisions = {
                decision.record - 1: decision.answer is Answer.INCLUDE
                for decision in given
                if decision.answer is not Answer.MAYBE and decision.record <= len(learner.records)
            }
            taught = (self._learner[0], learner.meaning is None, tuple(sorted(decisions.items())))
            if self._taught.get(reviewer) != taught:
                self._orders[reviewer] = _order(learner, decisions)
                self._taught[reviewer] = taught

    def _current_learner(self) -> Learner | None:
        """The learner for the current records and title."""
        version = self._project.records.count(), self._project.settings.title
        if self._learner[0] != version:
            texts = self._project.records.texts()
            self._learner = (len(texts), version[1]), Learner(texts, version[1]) if texts else None
            if self._reader is not None:
                self._reader.changed()
        version, learner = self._learner
        meaning = self._reader.meaning(*version) if self._reader is not None else None
        if learner is not None and meaning is not None and learner.meaning is not meaning:
            learner = learner.knowing(meaning)
            self._learner = version, learner
        return learner


def _order(learner: Learner, decisions: Mapping[int, bool]) -> Order:
    try:
        scores = learner.scores(decisions)
    except RankwellError:  # records without a word
        scores = np.zeros(len(learner.records))
    records = np.argsort(-scores, kind="stable") + 1
    return Order(tuple(records.tolist()), len(decisions), learner.meaning.model if learner.meaning else "")
