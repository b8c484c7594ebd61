"""What a doctor finds: facts, some of them with a way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

GOOD, NOTE, BROKEN = "good", "note", "broken"

Value: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Finding:
    """One fact. `note` is something that could be better, `broken` something that cannot stay so."""

    name: str
    value: Value
    shown: str = ""  # the value in words, where it is a number
    state: str = GOOD
    way_out: str = ""

    def __str__(self) -> str:
        return self.shown or ("-" if self.value is None else str(self.value))


@dataclass(frozen=True)
class Section:
    """Facts of one kind."""

    title: str
    findings: Sequence[Finding]


def megabytes(size: float) -> str:
    """Bytes in words: 221 MB, 1.4 GB."""
    if size < 1e9:  # noqa: PLR2004 -- a gigabyte
        return f"{size / 1e6:,.0f} MB"
    return f"{size / 1e9:,.1f} GB"
