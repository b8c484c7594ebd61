"""Whether Rankwell can do its work on this machine: what is here, what is missing, and the way out."""

from __future__ import annotations

from rankwell.doctor.checkup import Checkup, examine
from rankwell.doctor.findings import BROKEN, GOOD, NOTE, Finding, Section
from rankwell.doctor.kernels import Warmed, warm_kernels

__all__ = ["BROKEN", "GOOD", "NOTE", "Checkup", "Finding", "Section", "Warmed", "examine", "warm_kernels"]
