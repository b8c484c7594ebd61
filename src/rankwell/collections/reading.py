"""How to read: in which encoding, what to do with bad records, whom to tell how far we are."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankwell.collections.problems import Problems
from rankwell.core.progress import SILENT, Progress


@dataclass
class Place:
    """Where a reader is, so that a mistake that is found later (an id that comes again) can be shown with its line."""

    line: int | None = None


@dataclass(frozen=True)
class Reading:
    """Passed through every reader; the defaults are strict UTF-8, stop at the first bad record, and no display."""

    encoding: str = "utf-8"
    problems: Problems = field(default_factory=Problems)
    progress: Progress = SILENT
    place: Place = field(default_factory=Place)
