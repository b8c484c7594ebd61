"""How large chunks are: small enough that no worker waits long for the last one, large enough to be worth sending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rankwell.scale.workers import Workers

T = TypeVar("T")

CHUNKS = 16  # of each worker, between two moments at which all wait for the last one


def rounds(threads: int, a_thread: int) -> int:
    """How many items are asked for at once, so that so many threads are busy nearly all the time."""
    return CHUNKS * threads * a_thread


def chunked(items: Sequence[T], workers: Workers, a_thread: int) -> list[Sequence[T]]:
    """The items in chunks of so many for each thread of a worker; smaller ones where there is little to share."""
    most = a_thread * workers.threads // max(1, workers.count)
    size = max(1, min(most, -(-len(items) // max(1, 2 * workers.count))))
    return [items[start : start + size] for start in range(0, len(items), size)]
