"""Rankwell: from a pile of documents to a ranking people can trust."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0.dev0"
