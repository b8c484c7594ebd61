"""Cross-encoders: one transformer reads query and document together."""

from __future__ import annotations
