"""The search page: rendered on the server, made faster by a small script, and complete without it."""

from __future__ import annotations

__all__: list[str] = []
