"""All checks, in the order in which their findings are printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwell.doctor.machine import BROKEN, NOTE, CheckupSection, Finding, first_line, kernels, machine, places
from rankwell.doctor.packages import extras, models, packages

LOOKS: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
    ("Versions", packages),
    ("Extras", extras),
    ("Machine", machine),
    ("Home", places),
    ("Kernels", kernels),
    ("Models", models),
)


@dataclass(frozen=True)
class Checkup:
    """All findings. They hold nothing secret, so that they can be sent to whoever helps."""

    sections: tuple[CheckupSection, ...]

    @property
    def broken(self) -> list[Finding]:
        """The findings that must be fixed."""
        return self._findings(BROKEN)

    @property
    def notes(self) -> list[Finding]:
        """The findings that could be better."""
        return self._findings(NOTE)

    def _findings(self, state: str) -> list[Finding]:
        return [finding for section in self.sections for finding in section.findings if finding.state == state]

    def as_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        sections = {
            section.title.lower(): {finding.name: finding.as_dict() for finding in section.findings}
            for section in self.sections
        }
        return {"ok": not self.broken, **sections}


def examine() -> Checkup:
    """Run all checks, without network and without changing anything."""
    return Checkup(tuple(CheckupSection(title, _look(title, look)) for title, look in LOOKS))


def _look(title: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """Run one check; an unexpected error becomes a finding, so that the other checks still run."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 -- see above
        return [Finding(title.lower(), None, f"could not be looked at: {first_line(error)}", BROKEN)]
