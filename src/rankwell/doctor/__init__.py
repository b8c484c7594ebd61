"""Check whether Rankwell works on this machine: what is missing, and how to fix it."""

from __future__ import annotations

from rankwell.doctor.checkup import Checkup, examine
from rankwell.doctor.machine import BROKEN, GOOD, NOTE, CheckupSection, Finding, Warmed, warm_kernels

__all__ = ["BROKEN", "GOOD", "NOTE", "Checkup", "CheckupSection", "Finding", "Warmed", "examine", "warm_kernels"]
