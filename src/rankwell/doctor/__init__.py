"""Whether Rankwell can do its work on this machine: what is here, what is missing, and the way out."""

from __future__ import annotations

from rankwell.doctor.checkup import Checkup, examine
from rankwell.doctor.findings import BROKEN, GOOD, NOTE, Finding, Section

__all__ = ["BROKEN", "GOOD", "NOTE", "Checkup", "Finding", "Section", "examine"]
