"""What becomes of a piece of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Done:
    """It is finished. `notes` are the warnings that were given meanwhile."""

    value: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """The worker is well and could not do it. `final` where it would be the same anywhere: the user's to mend."""

    reason: str
    final: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lost:
    """The worker is gone, and with it what it had been given."""

    reason: str


Outcome = Done | Failed | Lost
