"""The judging application: pages for assessors and administrators."""

from __future__ import annotations

__all__: list[str] = []
