"""Bi-encoders: queries and documents as vectors, compared by cosine similarity."""

from __future__ import annotations
