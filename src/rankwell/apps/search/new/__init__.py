"""`rankwell serve --new`: upload a file, look at how it is read, index it, search it."""

from __future__ import annotations

__all__: list[str] = []
