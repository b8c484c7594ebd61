"""The compiled kernels of exact search among vectors."""

from __future__ import annotations

from rankwell.core.kernels import Kernels

kernels = Kernels("rankwell.dense.kernels")
