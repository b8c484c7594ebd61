"""The screening application: pages for one reviewer or two. `application` makes it, `server` runs it."""

from __future__ import annotations

__all__: list[str] = []
