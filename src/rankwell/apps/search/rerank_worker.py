"""The thread that runs re-ranking models, one slice of pairs at a time for each model in use."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread

import numpy as np

from rankwell.apps.search.process import step_back
from rankwell.core import Floats, RankwellError
from rankwell.models.base.tokens import Pair
from rankwell.models.reranking.scores import Scorer, key

SLICE_SECONDS = 0.05  # seconds of work between two checks for new calls
FIRST_SLICE, LARGEST_SLICE = 4, 256  # pairs
REMEMBERED = 50_000  # pairs whose scores are cached, the latest of each model: about 10 MB
WEIGHT = 0.2  # weight of the latest slice in the speed


@dataclass(eq=False)
class Call:
    """Pairs to score for a caller. `rows` fills from its front; `done` is set when it is full or has ended."""

    scorer: Scorer
    pairs: Sequence[Pair]
    over: Callable[[], bool] = lambda: False  # whether the caller no longer waits
    rows: list[Floats] = field(default_factory=list)
    error: Exception | None = None
    done: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.keys = [key(pair) for pair in self.pairs]  # here, because the caller's thread has time for it

    @property
    def complete(self) -> bool:
        """Whether every pair has its row."""
        return len(self.rows) == len(self.pairs)

    @property
    def waiting(self) -> Iterator[tuple[bytes, Pair]]:
        """The pairs without a row, with their keys."""
        start = len(self.rows)
        return zip(self.keys[start:], self.pairs[start:], strict=True)


class Lane:
    """The calls for one model, its cached scores and its speed. Not thread-safe, except `remembered`."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.calls: deque[Call] = deque()
        self.speed: float | None = None  # pairs per second
        self._known: OrderedDict[bytes, Floats] = OrderedDict()

    def serve(self) -> int:
        """Score one slice; return the number of pairs that the model scored."""
        self._hand_out()
        chosen = self._slice()
        if not chosen:
            return 0
        begun = time.perf_counter()
        try:
            self._score(chosen)
        except Exception:  # noqa: BLE001 -- a model may raise anything, and each caller must get the error
            self._score_one_by_one(chosen)
        now = len(chosen) / max(time.perf_counter() - begun, 1e-6)
        self.speed = now if self.speed is None else (1 - WEIGHT) * self.speed + WEIGHT * now
        self._hand_out()
        self.calls.rotate(-len(chosen))  # calls that got no turn are first next time
        return len(chosen)

    def remembered(self, call: Call) -> bool:
        """Fill a call from the cache alone, in any thread; False where a pair has to be scored."""
        rows = [self._known.get(name) for name in call.keys]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows):
            return False
        call.rows = known
        return True

    def _hand_out(self) -> None:
        """Give every call its known rows; remove calls that are complete or cancelled."""
        for call in list(self.calls):
            while not call.complete and call.keys[len(call.rows)] in self._known:
                name = call.keys[len(call.rows)]
                self._known.move_to_end(name)
                call.rows.append(self._known[name])
            if call.complete or call.error is not None or call.over():
                self.calls.remove(call)
                call.done.set()
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _slice(self) -> dict[bytes, Pair]:
        """The next pairs to score: one of each call in turn, each pair once."""
        size = FIRST_SLICE if self.speed is None else min(max(int(SLICE_SECONDS * self.speed), 1), LARGEST_SLICE)
        turns = deque(call.waiting for call in self.calls)
        chosen: dict[bytes, Pair] = {}
        while turns and len(chosen) < size:
            waiting = turns.popleft()
            for name, pair in waiting:
                if name not in self._known and name not in chosen:
                    chosen[name] = pair
                    turns.append(waiting)
                    break
        return chosen

    def _score(self, chosen: dict[bytes, Pair]) -> None:
        logits = self.scorer.logits(list(chosen.values()))
        if not np.isfinite(logits).all():
            raise RankwellError("model: expected finite scores, found others")
        # Copies: a view of a row would keep the whole array in memory.
        self._known.update((name, row.copy()) for name, row in zip(chosen, logits, strict=True))

    def _score_one_by_one(self, chosen: dict[bytes, Pair]) -> None:
        """After a failure, score pairs one by one, so that only calls with a failing pair fail."""
        for name, pair in chosen.items():
            try:
                self._score({name: pair})
            except Exception as error:  # noqa: BLE001 -- passed on to the callers
                for call in self.calls:
                    if name in call.keys:
                        call.error = error


class RerankWorker:
    """Serves calls in its thread until it is closed."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}  # by the scorer's id(); a lane keeps its scorer alive
        self._new: deque[Call] = deque()
        self._changed = Condition()
        self._closed = False
        self.scored = 0  # pairs that models have scored
        self._thread = Thread(target=self._work, name="rankwell-rerank", daemon=True)
        self._thread.start()

    def add(self, call: Call) -> None:
        """Queue a call; it ends at once where the worker is closed."""
        with self._changed:
            if not self._closed:
                self._new.append(call)
                self._changed.notify()
                return
        call.done.set()

    def remembered(self, call: Call) -> bool:
        """Answer a call at once, where all of its pairs are in the cache."""
        lane = self._lanes.get(id(call.scorer))
        return lane is not None and lane.remembered(call)

    def close(self) -> None:
        """Stop after the running slice. Waiting calls end without an answer."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def speed(self) -> float | None:
        """Pairs per second of the slowest model; None before the first slice."""
        return min((lane.speed for lane in list(self._lanes.values()) if lane.speed), default=None)

    def _work(self) -> None:
        step_back()  # the scorer's threads are started here and inherit the priority
        while self._take_new():
            for lane in list(self._lanes.values()):
                if lane.calls:
                    self.scored += lane.serve()
        for call in [*self._new, *(call for lane in self._lanes.values() for call in lane.calls)]:
            call.done.set()

    def _take_new(self) -> bool:
        """Sort new calls into their lanes; wait where there is nothing to do; False when closed."""
        with self._changed:
            while not (self._closed or self._new or any(lane.calls for lane in self._lanes.values())):
                self._changed.wait()
            while self._new:
                call = self._new.popleft()
                self._lanes.setdefault(id(call.scorer), Lane(call.scorer)).calls.append(call)
            return not self._closed
