"""Waiting until something has happened: the one place where tests look at a clock, and none of them asserts on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")
PATIENCE = 180.0  # seconds, on a machine that has much else to do: whoever waits so long waits for something that hangs


def wait_until(
    condition: Callable[[], T], what: str | Callable[[], str], *, patience: float = PATIENCE, pause: float = 0.02
) -> T:
    """Ask again and again until the answer is true, and give it back.

    Where the patience ends the test fails and says what it waited for: `what`, or what that gives when it is called.

        wait_until(lambda: queue.waiting == 0, "the queue is empty")
    """
    end = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {patience:g} s, and it did not happen: {what() if callable(what) else what}")
        time.sleep(pause)
    return found
