"""How much of the texts was cut, counted together over all workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Protocol

from rankwell.encode import Truncation


class Cutting(Protocol):
    """A scorer or an encoder."""

    @property
    def truncated(self) -> Truncation:
        """How much was cut so far."""


@contextmanager
def cut_by(model: Cutting) -> Iterator[Truncation]:
    """What a model cuts while the block runs; filled in at its end."""
    before, cut = replace(model.truncated), Truncation()
    yield cut
    for part in fields(Truncation):
        setattr(cut, part.name, getattr(model.truncated, part.name) - getattr(before, part.name))


def added(together: Truncation, more: Truncation) -> None:
    """Count more."""
    for part in fields(Truncation):
        setattr(together, part.name, getattr(together, part.name) + getattr(more, part.name))
