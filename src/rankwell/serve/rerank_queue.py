"""Re-ranking for many at once: a bounded queue, one thread that runs the models, and a clear "not now" when it is full.

A request is re-ranked by the very stage that it would be without a queue; only the model inside is replaced by one that
waits for its turn (`QueuedScorer`). The queue takes pairs from all who wait, one of each in turn, a slice of about
50 ms at a time: a request 1,000 deep does not hold up one of 10. Pairs are scored one by one in any case, so slices
cost nothing and change no score.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import TypeVar

from rankwell.core import Document, ParameterError, Run, Stage
from rankwell.encode import Truncation
from rankwell.encode.working import cores
from rankwell.rerank import CrossEncoder, Interpolate, Reranker, RerankExplanation, Scorer, explain_rerank
from rankwell.serve.notes import taken_notes
from rankwell.serve.rerank_lane import Call
from rankwell.serve.rerank_request import (
    QueuedScorer,
    RerankClosedError,
    RerankQueueFullError,
    RerankRequest,
    RerankTimeoutError,
)
from rankwell.serve.rerank_worker import RerankWorker

T = TypeVar("T")
R = TypeVar("R", bound=Reranker)

WAITING = 32  # requests
DOCUMENTS = 4_000  # that all of them together may have scored
UNKNOWN_SPEED = 50.0  # pairs a second, before anything was measured


class RerankQueue:
    """Re-ranks on behalf of requests.

    queue = RerankQueue()
    future = queue.submit(CrossEncoder("ms-marco-minilm-l12", index=index), run, timeout=5)
    run = future.result()

    `submit` raises RerankQueueFullError at once where `waiting` requests or `documents` documents wait already (a
    single request of any depth is taken by an empty queue). The future raises RerankTimeoutError when the time is over,
    and `future.cancel()` ends a request; either way it costs nothing more. `threads`: for the model, by default half
    of the cores, so that searches have the other half.
    """

    def __init__(self, *, waiting: int = WAITING, documents: int = DOCUMENTS, threads: int | None = None) -> None:
        if waiting < 1:
            raise ParameterError("waiting", expected="a number of requests, at least 1", found=waiting)
        self.most_waiting, self.most_documents = waiting, documents
        self.threads = threads or max(1, cores() // 2)
        self._requests: set[RerankRequest] = set()
        self._lock, self._loading = Lock(), Lock()
        self._closed = False
        self._worker = RerankWorker()
        self._waiters = ThreadPoolExecutor(waiting, thread_name_prefix="rankwell-rerank-waiter")
        self.done = self.shed = self.ended = 0  # requests: answered, refused, timed out or cancelled

    def submit(
        self, stage: Stage, run: Run, timeout: float | None = None, notes: list[str] | None = None
    ) -> Future[Run]:
        """Re-rank a run by a re-ranker, or by one that is interpolated; its warnings are put into `notes`."""
        reranker = reranker_of(stage)

        def work(request: RerankRequest) -> Run:
            with taken_notes(notes):
                found = self._queued(stage, request).apply(run)
            return replace(found, tag=reranker.name)

        return self._start(work, reranker.inferences(run), timeout)

    def check_room(self, documents: int = 1) -> None:
        """Raise as `submit` would now for so many documents: whoever asks first need not rank what nobody re-ranks."""
        with self._lock:
            full, waiting = self._full(documents), len(self._requests)
            self.shed += full
        if full:
            raise RerankQueueFullError(waiting, self.seconds_ahead() / 2)

    def explain(
        self, encoder: CrossEncoder, query: str, document: Document, timeout: float | None = None
    ) -> Future[RerankExplanation]:
        """The passages of a document with their scores, as `explain_rerank` gives them.

        At once and without a place in the queue where the document was re-ranked not long ago.
        """

        def work(request: RerankRequest) -> RerankExplanation:
            return explain_rerank(self._behind_queue(encoder, request), query, document)

        pairs = [(query, text) for text in encoder.texts_of(document)]
        if self._worker.remembered(Call(self.load(encoder), pairs)):
            request = RerankRequest(1, timeout)
            request.answer(work(request))
            return request.future
        return self._start(work, 1, timeout)

    def load(self, stage: Stage) -> Scorer:
        """The model of a stage, loaded; servers do that before the first request comes."""
        reranker = reranker_of(stage)
        if not isinstance(reranker.model, str):
            return reranker.model
        with self._loading:  # once, however many ask for it
            return reranker.changed(threads=self.threads).scorer()

    @property
    def waiting(self) -> int:
        """Requests that have no answer yet."""
        return len(self._requests)

    @property
    def scored(self) -> int:
        """Pairs that models looked at."""
        return self._worker.scored

    @property
    def truncated(self) -> Truncation:
        """How much of the texts the models did not see."""
        return self._worker.truncated

    @property
    def speed(self) -> float | None:
        """Pairs a second, of the slowest model; None before anything was measured."""
        return self._worker.speed()

    def seconds_ahead(self) -> float:
        """How long those who wait now will take."""
        with self._lock:
            pairs = sum(max(request.documents - request.scored, 1) for request in self._requests)
        return pairs / (self.speed or UNKNOWN_SPEED)

    def close(self) -> None:
        """Refuse new requests, end those that wait, and stop the thread."""
        with self._lock:
            self._closed = True
            requests = list(self._requests)
        for request in requests:
            request.fail(RerankClosedError())
        self._worker.close()
        self._waiters.shutdown()

    def _start(self, work: Callable[[RerankRequest], T], documents: int, timeout: float | None) -> Future[T]:
        request = RerankRequest(documents, timeout)
        with self._lock:
            if self._closed:
                raise RerankClosedError
            full, waiting = self._full(documents), len(self._requests)
            if full:
                self.shed += 1
            else:
                self._requests.add(request)
        if full:
            raise RerankQueueFullError(waiting, self.seconds_ahead() / 2)
        self._waiters.submit(self._wait, request, work)
        return request.future

    def _full(self, documents: int) -> bool:
        """Whether so many more documents are too many; an empty queue takes any."""
        waiting = len(self._requests)
        ahead = sum(other.documents for other in self._requests)
        return waiting >= self.most_waiting or (waiting > 0 and ahead + documents > self.most_documents)

    def _wait(self, request: RerankRequest, work: Callable[[RerankRequest], T]) -> None:
        """Take a request to its end, in a thread that mostly sleeps."""
        try:
            if request.over():
                raise RerankTimeoutError(request.timeout or 0.0)  # noqa: TRY301 -- told like those that come later
            request.answer(work(request))
        except BaseException as error:  # noqa: BLE001 -- it is the caller's
            request.fail(error)
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
        # The queue has a memory of its own; the one on the disk would be opened and synced at every request.
        return reranker.changed(model=scorer, cache=False, quiet=True, **own)


def reranker_of(stage: Stage) -> Reranker:
    """The re-ranker that a stage is or mixes."""
    if isinstance(stage, Interpolate):
        return reranker_of(stage.reranker)
    if isinstance(stage, Reranker):
        return stage
    raise ParameterError("stage", expected="a re-ranker, or one that is interpolated", found=type(stage).__name__)
