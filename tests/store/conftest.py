"""Both databases."""

from __future__ import annotations

from databases import address, postgres

__all__ = ["address", "postgres"]
