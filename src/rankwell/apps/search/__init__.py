"""Searching over HTTP: the REST API and the search page."""

from __future__ import annotations

__all__: list[str] = []
