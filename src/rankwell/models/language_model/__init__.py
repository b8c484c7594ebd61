"""Masked language models and vocabularies: adapt a transformer to a collection."""

from __future__ import annotations
