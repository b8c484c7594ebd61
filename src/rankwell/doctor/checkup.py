"""Everything that is looked at, in the order in which it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwell.doctor.findings import BROKEN, NOTE, Finding, Section
from rankwell.doctor.kernels import kernels
from rankwell.doctor.machine import machine
from rankwell.doctor.models import models
from rankwell.doctor.packages import extras, packages
from rankwell.doctor.places import places

LOOKS: tuple[tuple[str, Callable[[], Section]], ...] = (
    ("Versions", packages),
    ("Extras", extras),
    ("Machine", machine),
    ("Home", places),
    ("Kernels", kernels),
    ("Models", models),
)


@dataclass(frozen=True)
class Checkup:
    """What was found. Nothing of it is secret, so that it can be sent to whoever helps."""

    sections: tuple[Section, ...]

    @property
    def broken(self) -> list[Finding]:
        """What keeps Rankwell from its work."""
        return [finding for section in self.sections for finding in section.findings if finding.state == BROKEN]

    @property
    def notes(self) -> list[Finding]:
        """What could be better."""
        return [finding for section in self.sections for finding in section.findings if finding.state == NOTE]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
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
    """Look at everything, without network and without changing anything."""
    return Checkup(tuple(_looked(title, look) for title, look in LOOKS))


def _looked(title: str, look: Callable[[], Section]) -> Section:
    """One part; a machine that is broken in a way nobody thought of must not keep the doctor from the others."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 -- see above
        why = (str(error).splitlines() or [""])[0]
        return Section(
            title, [Finding(title.lower(), None, f"could not be looked at: {why or type(error).__name__}", BROKEN)]
        )
