"""A worker: loads a task, works through chunks, and never raises, so that errors travel as plain words."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankwell import __version__
from rankwell.core import RankwellError
from rankwell.scale.outcomes import Done, Failed
from rankwell.scale.tasks import Task, Work

LOGGER = "rankwell"


class Worker:
    """One task, loaded. Lives in a process of its own on a cluster, or right here."""

    def __init__(self) -> None:
        self._work: Work | None = None

    def open(self, task: Task, threads: int, version: str) -> Done | Failed:
        """Load the task; refuse where this is another Rankwell than the one that asks."""
        if version != __version__:
            return Failed(f"expected Rankwell {version} as here, found {__version__}", final=True)
        with _noted() as notes:
            try:
                self._work = task.open(threads)
            except RankwellError as error:
                return Failed(str(error), final=True, notes=tuple(notes))
            except Exception as error:  # noqa: BLE001 -- whatever it is, the one who asked must hear of it
                return Failed(_told(error), notes=tuple(notes))
        return Done(None, tuple(notes))

    def run(self, chunk: Any) -> Done | Failed:
        """Work through a chunk."""
        with _noted() as notes:
            try:
                if self._work is None:
                    return Failed("expected a worker with its task loaded, found one without")
                value = self._work(chunk)
            except RankwellError as error:
                return Failed(str(error), final=True, notes=tuple(notes))
            except Exception as error:  # noqa: BLE001 -- as above
                return Failed(_told(error), notes=tuple(notes))
        return Done(value, tuple(notes))


class _Notes(logging.Handler):
    """Keeps what is said instead of printing it where nobody looks."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())


@contextmanager
def _noted() -> Iterator[list[str]]:
    """The warnings of Rankwell while the block runs."""
    said: list[str] = []
    logger, handler = logging.getLogger(LOGGER), _Notes(said)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _told(error: Exception) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
