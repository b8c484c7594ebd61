from __future__ import annotations

from rankwell.apps.web import RateLimit
from rankwell.apps.web import sessions as rate_limit


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_so_many_tries_are_allowed_in_any_window() -> None:
    clock = Clock()
    limit = RateLimit(3, 60, clock)
    allowed = []
    for second in (0, 10, 20, 30, 59, 60, 61, 71):
        clock.now = second
        allowed.append(limit.allows("ada"))
    assert allowed == [True, True, True, False, False, True, False, True]


def test_one_key_does_not_use_up_anothers_tries() -> None:
    limit = RateLimit(1, 60, Clock())
    assert limit.allows("ada")
    assert limit.allows("bob")
    assert not limit.allows("ada")


def test_a_flood_of_keys_does_not_fill_the_memory(monkeypatch) -> None:
    monkeypatch.setattr(rate_limit, "MOST_KEYS", 100)
    limit = RateLimit(1, 60, Clock())
    for number in range(1000):
        limit.allows(str(number))
    assert len(limit._tries) == 100
