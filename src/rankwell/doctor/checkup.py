"""All checks, in the order in which their findings are printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwell.doctor.machine import BROKEN, NOTE, CheckupSection, Finding, kernels, machine, places
from rankwell.doctor.packages import extras, models, packages

LOOKS: tuple[tuple[str, Callable[[], CheckupSection]], ...] = (
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
        return [finding for section in self.sections for finding in section.findings if finding.state == BROKEN]

    @property
    def notes(self) -> list[Finding]:
        """The findings that could be better."""
        return [finding for section in self.sections for finding in section.findings if finding.state == NOTE]

    def as_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        return {
            "ok": not self.broken,
            **{
                section.title.lower(): {
                    finding.name: {
                        "value": finding.value,
                        "says": str(finding),
                        "state": finding.state,
                        "way_out": finding.way_out or None,
                    }
                    for finding in section.findings
                }
                for section in self.sections
            },
        }


def examine() -> Checkup:
    """Run all checks, without network and without changing anything."""
    return Checkup(tuple(_looked(title, look) for title, look in LOOKS))


def _looked(title: str, look: Callable[[], CheckupSection]) -> CheckupSection:
    """Run one check; an unexpected error becomes a finding, so that the other checks still run."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 -- see above
        why = (str(error).splitlines() or [""])[0]
        return CheckupSection(
            title, [Finding(title.lower(), None, f"could not be looked at: {why or type(error).__name__}", BROKEN)]
        )
