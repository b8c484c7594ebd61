"""The order in which records are looked at: learned in the background, never waited for."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from rankwell.core import RankwellError
from rankwell.reviews.screening.answers import Answer
from rankwell.reviews.screening.background_reader import BackgroundReader, ReadSoFar
from rankwell.reviews.screening.learner import Learner
from rankwell.reviews.screening.store import Project

logger = logging.getLogger(__name__)
AFTER = 0.1  # seconds, in which the answer to whoever decided goes out first

Version: TypeAlias = tuple[int, str]
"""How many records there are, and the review's title."""


class Order(NamedTuple):
    """Records, most promising first, on how many decisions that rests, and the model that read them (or none)."""

    records: tuple[int, ...]
    learned: int
    model: str = ""


class Ranking:
    """Learns anew after every decision, in a thread of its own; whoever asks gets the last order that is finished.

    Each reviewer has an order of their own, from their own decisions: the other's answers do not even show in it.
    `maybe` teaches nothing. With a `model` (BERT) the records are also read in the background; until they are, words
    alone make the order.
    """

    def __init__(self, project: Project, model: str | None = None) -> None:
        self._project = project
        self._reader = BackgroundReader(project, model, self.changed) if model else None
        self._orders: dict[int, Order] = {}
        self._learner: tuple[Version, Learner | None] = ((0, ""), None)
        self._taught: dict[int, tuple[object, ...]] = {}
        self._wake, self._idle = threading.Event(), threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="ranking", daemon=True)

    def start(self) -> None:
        """Begin to learn."""
        self.changed()
        self._thread.start()
        if self._reader is not None:
            self._reader.start()

    def changed(self) -> None:
        """Something was decided, undone or imported: learn again when there is time."""
        self._idle.clear()
        self._wake.set()

    @property
    def reading(self) -> ReadSoFar | None:
        """How far the model is that reads the records; None without one."""
        return None if self._reader is None else self._reader.so_far

    def order(self, reviewer: int) -> Order:
        """The last finished order. Records that came after it stand at its end, in the order of their import."""
        last = self._orders.get(reviewer, Order((), 0))
        count = self._project.records.count()
        if len(last.records) == count:
            return last
        return last._replace(records=(*last.records, *range(len(last.records) + 1, count + 1)))

    def wait(self, seconds: float) -> bool:
        """Wait until everything that was decided before has been learned; for tests and measurements."""
        return self._idle.wait(seconds)

    def close(self) -> None:
        """Stop when what is being learned is finished."""
        self._closing = True
        self._wake.set()
        if self._reader is not None:
            self._reader.close()
        if self._thread.is_alive():
            self._thread.join(10)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(AFTER)
            self._wake.clear()
            if self._closing:
                return
            try:
                self._learn()
            except Exception as error:  # noqa: BLE001 -- screening goes on with the order there is
                logger.warning("the ranking could not learn: %s", type(error).__name__)
            if not self._wake.is_set():
                self._idle.set()

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
        """The learner for the records and the title that there are now."""
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
