"""What workers are told to do: something to load once, and then chunk after chunk to work through with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Work = Callable[[Any], Any]


class Task(Protocol):
    """A frozen record of plain values, because it travels. One idea of work a class."""

    def open(self, threads: int) -> Work:
        """Load what is needed, once a worker. The result takes a chunk and gives what came out.

        Raises a RankwellError where this worker would give something else than another: another model, another index.
        """

    def describe(self, chunk: Any) -> str:
        """The chunk in an error: `32 pairs from "fever"`."""
