"""The REST API: searches, documents, judgments, health and metrics over HTTP."""

from __future__ import annotations

__all__: list[str] = []
