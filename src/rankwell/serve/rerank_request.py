"""One request that waits for a re-ranker: what it asks for, until when, and whether anybody still waits."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.encode import Truncation
from rankwell.rerank import Scorer
from rankwell.serve.rerank_lane import Call
from rankwell.serve.rerank_worker import RerankWorker


class RerankQueueFullError(RankwellError):
    """Too many wait already. `retry_after`: whole seconds after which it is worth trying again."""

    def __init__(self, waiting: int, seconds: float) -> None:
        self.retry_after = max(1, math.ceil(seconds))
        super().__init__(f"re-ranking: {waiting:,} requests wait already: try again in {self.retry_after} s")


class RerankTimeoutError(RankwellError):
    """The time that a request had is over."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"re-ranking: not done within {seconds:g} s")


class RerankClosedError(RankwellError):
    """The server is stopping."""

    def __init__(self) -> None:
        super().__init__("re-ranking: the server is stopping")


@dataclass(eq=False)
class RerankRequest:
    """A request from its coming to its answer. Whoever cancels its future ends it."""

    documents: int  # that it has scored, at most
    timeout: float | None = None  # seconds
    future: Future[Any] = field(default_factory=Future)
    begun: float = field(default_factory=time.monotonic)
    scored: int = 0  # pairs so far

    @property
    def left(self) -> float | None:
        """Seconds that remain; None where it may take as long as it takes."""
        return None if self.timeout is None else max(0.0, self.begun + self.timeout - time.monotonic())

    def over(self) -> bool:
        """Whether nobody waits any more."""
        return self.future.done() or self.left == 0

    def answer(self, result: object) -> None:
        """Say what came out, unless nobody waits any more."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Say what went wrong, unless nobody waits any more."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class QueuedScorer:
    """A model behind the queue, for one request: in whatever stage it is, its pairs wait for their turn.

    What is cut off is counted for the server as a whole (`RerankQueue.truncated`), and not told at every request.
    """

    def __init__(self, scorer: Scorer, worker: RerankWorker, request: RerankRequest) -> None:
        self._scorer, self._worker, self._request = scorer, worker, request
        self.truncated = Truncation()

    def __getattr__(self, name: str) -> Any:
        """What else the model says of itself, such as how it reads."""
        return getattr(self._scorer, name)

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        """A row for each pair, when the worker has been through all of them."""
        if not pairs:
            return self._scorer.logits(pairs, progress)
        call = Call(self._scorer, pairs, self._request.over)
        if not self._worker.remembered(call):
            self._request.future.add_done_callback(lambda _: call.done.set())
            self._worker.add(call)
            call.done.wait(self._request.left)
        if call.error is not None:
            raise call.error
        if not call.complete:
            raise RerankClosedError if self._request.left != 0 else RerankTimeoutError(self._request.timeout or 0.0)
        self._request.scored += len(pairs)
        progress.advance(len(pairs))
        return np.array(call.rows, dtype=np.float32)

    def scores(self, logits: Floats) -> Floats:
        """One number a pair to rank by."""
        return self._scorer.scores(logits)

    def probabilities(self, scores: Floats) -> Floats:
        """The same as probabilities of relevance."""
        return self._scorer.probabilities(scores)

    def fingerprint(self) -> str:
        """That of the model."""
        return self._scorer.fingerprint()
