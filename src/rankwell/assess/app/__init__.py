"""The judging application: pages for assessors and for administrators. `application` makes it, `server` runs it."""

from __future__ import annotations

__all__: list[str] = []
