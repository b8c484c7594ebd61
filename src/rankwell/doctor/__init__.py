"""Check whether Rankwell works on this machine: what is missing, and how to fix it."""

from __future__ import annotations

from rankwell.doctor.checkup import Checkup, examine
from rankwell.doctor.machine import warm_kernels

__all__ = ["Checkup", "examine", "warm_kernels"]
