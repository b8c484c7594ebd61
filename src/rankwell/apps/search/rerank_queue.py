"""Re-ranking for many requests at once: a bounded queue with deadlines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from rankwell.apps.search.process import settle
from rankwell.apps.search.rerank_worker import Call, RerankWorker
from rankwell.apps.search.responses import taken_notes
from rankwell.core import SILENT, Document, Floats, ParameterError, Progress, RankwellError, Run, Stage
from rankwell.models.base import Truncation
from rankwell.models.base.runtime import cores
from rankwell.models.base.tokens import Pair
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import Interpolate, RerankExplanation, explain_rerank
from rankwell.models.reranking.reranker import Reranker
from rankwell.models.reranking.scores import Scorer

T = TypeVar("T")
R = TypeVar("R", bound=Reranker)

WAITING = 32  # requests
DOCUMENTS = 4_000  # most documents of all waiting requests together
UNKNOWN_SPEED = 50.0  # pairs per second, before the first measurement


class RerankQueueFullError(RankwellError):
    """Too many requests wait already; try again after `retry_after` seconds."""

    status = 503

    def __init__(self, waiting: int, seconds: float) -> None:
        self.retry_after = max(1, math.ceil(seconds))
        super().__init__(f"re-ranking: {waiting:,} requests wait already: try again in {self.retry_after} s")


class RerankTimeoutError(RankwellError):
    """The request's time is over."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(f"re-ranking: not done within {seconds or 0.0:g} s")


class RerankClosedError(RankwellError):
    """The server is stopping and re-ranks no more."""

    status = 503

    def __init__(self) -> None:
        super().__init__("re-ranking: the server is stopping")


@dataclass(eq=False)
class RerankRequest:
    """A request from its arrival to its answer. Cancelling its future ends it."""

    documents: int  # most documents to score
    timeout: float | None = None  # seconds
    future: Future[Any] = field(default_factory=Future)
    begun: float = field(default_factory=time.monotonic)
    scored: int = 0  # pairs scored so far

    @property
    def left(self) -> float | None:
        """Seconds that remain; None without a time limit."""
        return None if self.timeout is None else max(0.0, self.begun + self.timeout - time.monotonic())

    def over(self) -> bool:
        """Whether the caller no longer waits."""
        return self.future.done() or self.left == 0


class QueuedScorer:
    """A model behind the queue, for one request: the pairs of any stage wait for their turn.

    Truncation is not reported for each request.
    """

    def __init__(self, scorer: Scorer, worker: RerankWorker, request: RerankRequest) -> None:
        self._scorer, self._worker, self._request = scorer, worker, request
        self.truncated = Truncation()

    def __getattr__(self, name: str) -> Any:
        """Other attributes are the model's."""
        return getattr(self._scorer, name)

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """A row of logits for each pair, when the worker has scored all of them."""
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
            raise RerankClosedError if self._request.left != 0 else RerankTimeoutError(self._request.timeout)
        self._request.scored += len(pairs)
        progress.advance(len(pairs))
        return np.array(call.rows, dtype=np.float32)

    def scores(self, logits: Floats) -> Floats:
        """One score per pair to rank by."""
        return self._scorer.scores(logits)

    def probabilities(self, scores: Floats) -> Floats:
        """The scores as probabilities of relevance."""
        return self._scorer.probabilities(scores)

    def fingerprint(self) -> str:
        """The model's fingerprint."""
        return self._scorer.fingerprint()


class RerankQueue:
    """Re-ranks for requests in a thread of its own.

    queue = RerankQueue()
    future = queue.submit(CrossEncoder("ms-marco-minilm-l12", index=index), run, timeout=5)
    run = future.result()

    `submit` raises RerankQueueFullError at once where `waiting` requests or `documents` documents wait already (a
    single request of any depth is taken by an empty queue). The future raises RerankTimeoutError when the time is over,
    and `future.cancel()` ends a request; either way it costs nothing more. A model has half of the cores, so that
    searches have the other half.
    """

    def __init__(self, *, waiting: int = WAITING, documents: int = DOCUMENTS) -> None:
        if waiting < 1:
            raise ParameterError("waiting", expected="a number of requests, at least 1", found=waiting)
        self.most_waiting, self.most_documents = waiting, documents
        self._requests: set[RerankRequest] = set()
        self._lock, self._loading = Lock(), Lock()
        self._closed = False
        self._worker = RerankWorker()
        self._waiters = ThreadPoolExecutor(waiting, thread_name_prefix="rankwell-rerank-waiter")
        self.done = self.shed = self.ended = 0  # requests: answered, refused, timed out or cancelled

    def submit(
        self, stage: Stage, run: Run, timeout: float | None = None, notes: list[str] | None = None
    ) -> Future[Run]:
        """Queue a run for a re-ranker, plain or interpolated; its warnings are added to `notes`."""
        reranker = reranker_of(stage)

        def work(request: RerankRequest) -> Run:
            with taken_notes(notes):
                reranked = self._queued(stage, request).apply(run)
            return replace(reranked, tag=reranker.name)

        return self._start(work, reranker.inferences(run), timeout)

    def check_room(self) -> None:
        """Raise as `submit` would now for one document, so that the first stage need not run in vain."""
        with self._lock:
            self._refuse_if_full(1)

    def explain(
        self, encoder: CrossEncoder, query: str, document: Document, timeout: float | None = None
    ) -> Future[RerankExplanation]:
        """The passages of a document with their scores, as `explain_rerank` gives them.

        Answered at once, without queueing, where the document was re-ranked recently.
        """

        def work(request: RerankRequest) -> RerankExplanation:
            return explain_rerank(self._behind_queue(encoder, request), query, document)

        pairs = [(query, text) for text in encoder.texts_of(document)]
        if self._worker.remembered(Call(self.load(encoder), pairs)):
            request = RerankRequest(1, timeout)
            settle(request.future, work(request))
            return request.future
        return self._start(work, 1, timeout)

    def load(self, stage: Stage) -> Scorer:
        """Load the model of a stage; servers do that before the first request."""
        reranker = reranker_of(stage)
        if not isinstance(reranker.model, str):
            return reranker.model
        with self._loading:  # once, however many requests need it
            return reranker.changed(threads=max(1, cores() // 2)).scorer()

    @property
    def waiting(self) -> int:
        """Number of requests without an answer."""
        return len(self._requests)

    @property
    def scored(self) -> int:
        """Number of pairs that models have scored."""
        return self._worker.scored

    def close(self) -> None:
        """Refuse new requests, end those that wait, and stop the thread."""
        with self._lock:
            self._closed = True
            requests = list(self._requests)
        for request in requests:
            settle(request.future, RerankClosedError())
        self._worker.close()
        self._waiters.shutdown()

    def _start(self, work: Callable[[RerankRequest], T], documents: int, timeout: float | None) -> Future[T]:
        request = RerankRequest(documents, timeout)
        with self._lock:
            if self._closed:
                raise RerankClosedError
            self._refuse_if_full(documents)
            self._requests.add(request)
        self._waiters.submit(self._wait, request, work)
        return request.future

    def _refuse_if_full(self, documents: int) -> None:
        """Raise where this many more documents exceed the limit; an empty queue takes any number."""
        waiting = len(self._requests)
        ahead = sum(other.documents for other in self._requests)
        if waiting >= self.most_waiting or (waiting > 0 and ahead + documents > self.most_documents):
            self.shed += 1
            pairs = sum(max(request.documents - request.scored, 1) for request in self._requests)
            raise RerankQueueFullError(waiting, pairs / (self._worker.speed() or UNKNOWN_SPEED) / 2)

    def _wait(self, request: RerankRequest, work: Callable[[RerankRequest], T]) -> None:
        """Run a request to its end, in a thread that mostly sleeps."""
        try:
            if request.over():
                raise RerankTimeoutError(request.timeout)  # noqa: TRY301 -- handled like later errors
            settle(request.future, work(request))
        except BaseException as error:  # noqa: BLE001 -- passed on to the caller
            settle(request.future, error)
        finally:
            with self._lock:
                self._requests.discard(request)
                if request.future.cancelled() or request.future.exception() is not None:
                    self.ended += 1
                else:
                    self.done += 1

    def _queued(self, stage: Stage, request: RerankRequest) -> Stage:
        """The stage with the queue in place of its model."""
        if isinstance(stage, Interpolate):
            return replace(stage, reranker=self._queued(stage.reranker, request))
        return self._behind_queue(reranker_of(stage), request)

    def _behind_queue(self, reranker: R, request: RerankRequest) -> R:
        scorer = QueuedScorer(self.load(reranker), self._worker, request)
        own = dict.fromkeys(("max_tokens", "query_tokens", "precision", "threads"))
        # The queue has its own cache; the one on the disk would be opened and synced at every request.
        return reranker.changed(model=scorer, cache=False, quiet=True, **own)


def reranker_of(stage: Stage) -> Reranker:
    """The re-ranker of a stage, which may be interpolated."""
    if isinstance(stage, Interpolate):
        return reranker_of(stage.reranker)
    if isinstance(stage, Reranker):
        return stage
    raise ParameterError("stage", expected="a re-ranker, or one that is interpolated", found=type(stage).__name__)
