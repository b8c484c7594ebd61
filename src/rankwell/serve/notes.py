"""Warnings of the library as part of an answer: what a command prints as a note, a request gets in `warnings`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_taken: ContextVar[list[str] | None] = ContextVar("warnings of a request", default=None)
LOGGER = "rankwell"
MOST = 20


class Notes(logging.Handler):
    """Puts warnings into the list of the request that caused them; what no request caused goes where it always went.

    They quote what somebody asked for, and so they are not written to the server's log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record goes on to the other handlers: not if a request took it."""
        taken = _taken.get()
        if taken is None or record.levelno < logging.WARNING:
            return True
        told = record.getMessage()
        if len(taken) < MOST and told not in taken:
            taken.append(told)
        return False

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing is left to do."""


def take_notes() -> None:
    """Let the library's warnings go to the requests that cause them, from wherever they would be printed."""
    ours = logging.getLogger(LOGGER)
    if any(isinstance(handler, Notes) for handler in ours.handlers):
        return
    notes = Notes()
    for handler in logging.getLogger().handlers:
        handler.addFilter(notes.filter)
    ours.addHandler(notes)


@contextmanager
def taken_notes(into: list[str] | None = None) -> Iterator[list[str]]:
    """The warnings of what runs in this block, in this thread; in the list given, or in a new one."""
    found: list[str] = [] if into is None else into
    token = _taken.set(found)
    try:
        yield found
    finally:
        _taken.reset(token)
