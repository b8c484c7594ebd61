"""Everyone who waits for the same re-ranking model, served a slice at a time."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Floats
from rankwell.rerank import Scorer
from rankwell.rerank.score_cache import key

SLICE_SECONDS = 0.05  # of work between two looks at who waits
FIRST_SLICE, LARGEST_SLICE = 4, 256  # pairs
REMEMBERED = 50_000  # pairs whose scores are kept, the latest of each model: about 10 MB
WEIGHT = 0.2  # of the latest slice in the speed

Pair = tuple[str, str]


@dataclass(eq=False)
class Call:
    """Pairs that somebody waits for. `rows` fills from its front; `done` is set when it is full or has ended."""

    scorer: Scorer
    pairs: Sequence[Pair]
    over: Callable[[], bool] = lambda: False  # whether nobody waits any more
    rows: list[Floats] = field(default_factory=list)
    error: Exception | None = None
    done: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.keys = [key(pair) for pair in self.pairs]  # here, because the caller's thread has the time

    @property
    def complete(self) -> bool:
        """Whether every pair has its row."""
        return len(self.rows) == len(self.pairs)

    @property
    def waiting(self) -> Iterator[tuple[bytes, Pair]]:
        """The pairs that have no row yet, with their keys."""
        start = len(self.rows)
        return zip(self.keys[start:], self.pairs[start:], strict=True)


class Lane:
    """The calls for one model, its latest scores and its speed. Used by one thread, but for `remembered`."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.calls: deque[Call] = deque()
        self.speed: float | None = None  # pairs a second
        self._known: OrderedDict[bytes, Floats] = OrderedDict()

    def serve(self) -> int:
        """Score one slice; the number of pairs that the model looked at."""
        self._hand_out()
        chosen = self._slice()
        if not chosen:
            return 0
        begun = time.perf_counter()
        try:
            self._score(chosen)
        except Exception:  # noqa: BLE001 -- a model may raise anything, and each of those who wait must hear of it
            self._score_one_by_one(chosen)
        now = len(chosen) / max(time.perf_counter() - begun, 1e-6)
        self.speed = now if self.speed is None else (1 - WEIGHT) * self.speed + WEIGHT * now
        self._hand_out()
        self.calls.rotate(-len(chosen))  # those who were not among them are first next time
        return len(chosen)

    def remembered(self, call: Call) -> bool:
        """Fill a call from memory alone, in any thread; False where a pair has to be scored."""
        rows = [self._known.get(name) for name in call.keys]
        found = [row for row in rows if row is not None]
        if len(found) < len(rows):
            return False
        call.rows = found
        return True

    def _hand_out(self) -> None:
        """Give every call the rows that are known by now; those that are complete, or not wanted any more, go."""
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
        """The next pairs: one of each call in turn, each pair once."""
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
        # Copies: a row of the array would keep all of it in memory.
        self._known.update((name, row.copy()) for name, row in zip(chosen, logits, strict=True))

    def _score_one_by_one(self, chosen: dict[bytes, Pair]) -> None:
        """After a failure: only the calls whose own pair fails may fail."""
        for name, pair in chosen.items():
            try:
                self._score({name: pair})
            except Exception as error:  # noqa: BLE001 -- handed to those who asked
                for call in self.calls:
                    if name in call.keys:
                        call.error = error
