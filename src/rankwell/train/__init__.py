"""Training: make pairs, adapt, fine-tune and search, with or without labels."""

from __future__ import annotations

__all__: list[str] = []
