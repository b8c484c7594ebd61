"""Transformers: where models come from, and what they see of a text."""

from __future__ import annotations

from rankwell.encode.models import (
    KnownModel,
    add_model,
    default_tokenizer,
    fetched_models,
    find_model,
    known_models,
    remove_model,
)
from rankwell.encode.tokenizer import TokenCounter

__all__ = [
    "KnownModel",
    "TokenCounter",
    "add_model",
    "default_tokenizer",
    "fetched_models",
    "find_model",
    "known_models",
    "remove_model",
]
