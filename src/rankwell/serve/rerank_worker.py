"""The one thread that runs re-ranking models: a slice of each model that is waited for, in turn."""

from __future__ import annotations

from collections import deque
from threading import Condition, Thread

from rankwell.encode import Truncation
from rankwell.rerank import Scorer
from rankwell.serve.priority import step_back
from rankwell.serve.rerank_lane import Call, Lane


class RerankWorker:
    """Serves calls until it is closed."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}  # by the scorer's identity; a lane keeps its scorer alive
        self._new: deque[Call] = deque()
        self._changed = Condition()
        self._closed = False
        self.scored = 0  # pairs that models looked at
        self._thread = Thread(target=self._work, name="rankwell-rerank", daemon=True)
        self._thread.start()

    def add(self, call: Call) -> None:
        """Let a call wait for its turn; it ends at once where the worker is closed."""
        with self._changed:
            if not self._closed:
                self._new.append(call)
                self._changed.notify()
                return
        call.done.set()

    def remembered(self, call: Call) -> bool:
        """Answer a call at once, where all of its pairs were scored not long ago."""
        lane = self._lanes.get(id(call.scorer))
        return lane is not None and lane.remembered(call)

    def close(self) -> None:
        """Stop after the slice that runs. Calls that wait end without an answer."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def speed(self, scorer: Scorer | None = None) -> float | None:
        """Pairs a second of a model, or of the slowest one; None before the first slice."""
        speeds = [lane.speed for lane in list(self._lanes.values()) if scorer in {None, lane.scorer} and lane.speed]
        return min(speeds, default=None)

    @property
    def truncated(self) -> Truncation:
        """How much of the texts the models did not see so far."""
        cuts = [lane.scorer.truncated for lane in list(self._lanes.values())]
        return Truncation(
            sum(cut.texts for cut in cuts),
            sum(cut.queries_cut for cut in cuts),
            sum(cut.documents_cut for cut in cuts),
            sum(cut.tokens_dropped for cut in cuts),
        )

    def _work(self) -> None:
        step_back()  # the threads of a scorer are started here, and inherit it
        while self._take_new():
            for lane in list(self._lanes.values()):
                if lane.calls:
                    self.scored += lane.serve()
        for call in [*self._new, *(call for lane in self._lanes.values() for call in lane.calls)]:
            call.done.set()

    def _take_new(self) -> bool:
        """Sort what has come into its lane, waiting where there is nothing to do; False when closed."""
        with self._changed:
            while not (self._closed or self._new or any(lane.calls for lane in self._lanes.values())):
                self._changed.wait()
            while self._new:
                call = self._new.popleft()
                self._lanes.setdefault(id(call.scorer), Lane(call.scorer)).calls.append(call)
            return not self._closed
