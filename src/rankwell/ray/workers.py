"""Distribute work: chunks go to workers and come back, and are reassigned when a worker is lost."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from rankwell.core import RankwellError
from rankwell.ray.worker import Crew, Done, Failed, Lost, Outcome, Task, Ticket

log = logging.getLogger(__name__)

END = object()
LATER = object()  # what a source of chunks gives where the next one depends on unfinished ones
AHEAD = 2  # chunks per worker: one being processed and one waiting, so that it is never idle
ATTEMPTS = 3  # attempts for a chunk, or for loading a worker
PATIENCE = 30.0  # seconds without any worker before a message


@dataclass
class _Round:
    """The chunks of one `map`."""

    source: Iterator[Any]
    held: dict[int, Any] = field(default_factory=dict)  # chunks being processed, kept for reassignment
    back: deque[int] = field(default_factory=deque)
    suspects: set[int] = field(default_factory=set)  # chunks of a lost worker: each is retried alone
    tries: Counter[int] = field(default_factory=Counter)
    running: dict[Ticket, int] = field(default_factory=dict)
    taken: int = 0
    ahead: Any = LATER  # the next new one; END after the last

    def __post_init__(self) -> None:
        self._look()

    def following(self) -> int | None:
        """The next chunk to give out: returned ones first."""
        if self.back:
            return self.back.popleft()
        if self.ahead is LATER:
            self._look()
        if self.ahead is LATER or self.ahead is END:
            return None
        number, self.held[self.taken] = self.taken, self.ahead
        self.taken += 1
        self._look()
        return number

    @property
    def over(self) -> bool:
        """Whether all chunks are done."""
        return self.ahead is END and not self.held

    def _look(self) -> None:
        self.ahead = next(self.source, END)


class Workers:
    """A crew with one loaded task, which stays loaded between calls of `map`.

    A chunk's result is taken once. A chunk of a lost worker goes to another one, and one that fails is retried
    elsewhere, three times in all; then an error names it. A worker has at most two chunks at a time,
    however many there are; with `ahead=1` it has one, for chunks that take minutes and should not wait for another.
    """

    def __init__(self, crew: Crew, task: Task, *, ahead: int = AHEAD) -> None:
        self._crew, self._task, self._ahead = crew, task, ahead
        self._opening: dict[Ticket, str] = {}
        self._ready: dict[str, list[Ticket]] = {}  # chunks of each worker, in order
        self._owner: dict[Ticket, str] = {}
        self._alone: set[str] = set()  # workers with a suspect chunk, which get no other
        self._deaths: Counter[str] = Counter()  # failures in a row, by the place's first worker
        self._place: dict[str, str] = {}
        self._said: set[str] = set()
        self._last_loss = ""

    def __enter__(self) -> Self:
        for worker, ticket in self._crew.hire(self._task).items():
            self._opening[ticket] = worker
            self._place[worker] = worker
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._crew.close()

    @property
    def count(self) -> int:
        """Number of workers, including those still loading."""
        return len(self._ready) + len(self._opening)

    @property
    def threads(self) -> int:
        """Total number of threads of the workers."""
        return sum(map(self._crew.threads, (*self._ready, *self._opening.values())))

    def ready(self) -> None:
        """Wait until a worker has loaded its task."""
        nothing = _Round(iter(()))
        while not self._ready:
            self._step(nothing)

    def map(self, chunks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """The number of each chunk and its result, as they finish, in no particular order.

        Where `chunks` gives LATER, it is asked again after a chunk has finished.
        """
        now = _Round(iter(chunks))
        while not now.over:
            self._give_out(now)
            yield from self._step(now)

    def _give_out(self, now: _Round) -> None:
        """Give out as many chunks as allowed; the least busy worker first."""
        while self._ready:
            worker = min(self._ready, key=lambda name: self._ahead if name in self._alone else len(self._ready[name]))
            most = 1 if now.suspects.intersection(now.back) else self._ahead
            if worker in self._alone or len(self._ready[worker]) >= most:
                return
            number = now.following()
            if number is None:
                return
            ticket = self._crew.submit(worker, now.held[number])
            now.running[ticket] = number
            self._owner[ticket] = worker
            self._ready[worker].append(ticket)
            if number in now.suspects:
                self._alone.add(worker)

    def _step(self, now: _Round) -> list[tuple[int, Any]]:
        """Wait for an outcome and handle it."""
        if not self.count:
            raise RankwellError(f"no worker is left: {self._last_loss}")
        results = []
        happened = self._crew.wait(PATIENCE)
        if not happened and not self._ready:
            self._say("no worker is ready yet: all may be loading still, or the cluster may have no room for one now")
        for ticket, outcome in happened:
            for note in () if isinstance(outcome, Lost) else outcome.notes:
                self._say(note)
            if ticket in self._opening:
                self._opened(self._opening.pop(ticket), outcome)
            elif ticket in self._owner:  # not of a dismissed worker
                results += self._finished(now, ticket, outcome)
        return results

    def _opened(self, worker: str, outcome: Outcome) -> None:
        """Handle the outcome of loading a task."""
        if isinstance(outcome, Done):
            self._ready[worker] = []
        elif isinstance(outcome, Failed) and outcome.final:
            raise RankwellError(f"{worker}: {outcome.reason}")
        else:
            self._crew.dismiss(worker)
            self._rehire(worker, outcome.reason)

    def _finished(self, now: _Round, ticket: Ticket, outcome: Outcome) -> list[tuple[int, Any]]:
        """Handle the outcome of a chunk."""
        worker = self._owner.pop(ticket)
        if isinstance(outcome, Lost):
            self._lost(now, worker, outcome.reason)
            return []
        self._ready[worker].remove(ticket)
        self._alone.discard(worker)
        number = now.running.pop(ticket, None)
        if number is None:  # of an earlier round that was abandoned
            return []
        if isinstance(outcome, Failed):
            self._blame(now, number, f"{worker}: {outcome.reason}", final=outcome.final)
            return []
        self._deaths[self._place[worker]] = 0
        now.suspects.discard(number)
        del now.held[number]
        return [(number, outcome.value)]

    def _lost(self, now: _Round, worker: str, reason: str) -> None:
        """Reassign the chunks of a lost worker, one by one, because any of them may have caused the loss."""
        had = self._ready.pop(worker)
        numbers = [number for number in (now.running.pop(ticket, None) for ticket in had) if number is not None]
        for ticket in had:
            self._owner.pop(ticket, None)
        self._alone.discard(worker)
        self._crew.dismiss(worker)
        now.suspects.update(numbers)
        for number in numbers:
            self._blame(now, number, f"{worker}: {reason}", final=False)
        self._rehire(worker, reason)

    def _blame(self, now: _Round, number: int, reason: str, *, final: bool) -> None:
        """Retry the chunk elsewhere, or raise after the last attempt."""
        now.tries[number] += 1
        if final or now.tries[number] >= ATTEMPTS:
            times = "" if now.tries[number] == 1 else f"failed {now.tries[number]} times, the last time on "
            raise RankwellError(f"{self._task.describe(now.held[number])} (chunk {number + 1}): {times}{reason}")
        self._say(f"a chunk is given to another worker: {reason}")
        now.back.append(number)

    def _rehire(self, worker: str, reason: str) -> None:
        """Replace a lost worker, unless its place has failed too often."""
        place = self._place.pop(worker)
        self._last_loss = f"{worker}: {reason}"
        self._deaths[place] += 1
        hired = self._crew.rehire(worker, self._task) if self._deaths[place] < ATTEMPTS else None
        if hired is None:
            log.warning("%s is gone, %d workers are left: %s", worker, self.count, reason)
            return
        name, ticket = hired
        self._place[name] = place
        self._opening[ticket] = name

    def _say(self, note: str) -> None:
        """Log each note once, however many workers report it."""
        if note not in self._said:
            self._said.add(note)
            log.warning("%s", note)


T = TypeVar("T")

CHUNKS = 16  # chunks per worker, between two moments at which all wait for the last one


def rounds(threads: int, a_thread: int) -> int:
    """Number of items per round that keep this many threads busy nearly all the time."""
    return CHUNKS * threads * a_thread


def chunked(items: Sequence[T], workers: Workers, a_thread: int) -> list[Sequence[T]]:
    """The items in chunks of a fixed size per thread of a worker; smaller ones where there are few items."""
    most = a_thread * workers.threads // max(1, workers.count)
    size = max(1, min(most, -(-len(items) // max(1, 2 * workers.count))))
    return [items[start : start + size] for start in range(0, len(items), size)]
