"""Rate limits: so many tries in so many seconds, per key."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock

MOST_KEYS = 50_000  # a flood of keys costs some megabytes, then forgets the oldest


class RateLimit:
    """At most `count` tries within any `seconds`, per key. Kept in memory: one process serves the pages.

    Keys are hashed at once, so that an address that somebody typed is not kept anywhere.
    """

    def __init__(self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.count, self.seconds, self._clock = count, seconds, clock
        self._tries: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, key: str) -> bool:
        """Count one try; False where there were too many (those that are refused do not count)."""
        name = hashlib.blake2b(key.encode(errors="replace"), digest_size=16).digest()
        now = self._clock()
        with self._lock:
            tries = self._tries.setdefault(name, deque())
            self._tries.move_to_end(name)
            while tries and tries[0] <= now - self.seconds:
                tries.popleft()
            if len(tries) >= self.count:
                return False
            tries.append(now)
            while len(self._tries) > MOST_KEYS:
                self._tries.popitem(last=False)
            return True
