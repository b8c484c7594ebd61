"""The screening application: pages for one reviewer or two."""

from __future__ import annotations

__all__: list[str] = []
