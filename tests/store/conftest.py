"""Both databases."""

from __future__ import annotations

from databases import address, make_tables_once, postgres

__all__ = ["address", "make_tables_once", "postgres"]
