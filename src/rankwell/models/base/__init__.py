"""Transformer models: fetching them, and running them on texts and pairs of texts."""

from __future__ import annotations

from rankwell.models.base.catalogue import add_models, describe, export_model, measure_drift
from rankwell.models.base.encoders import PairScorer, TextEncoder, load_pair_scorer, load_text_encoder
from rankwell.models.base.sources import fetched_models, find_model, known_models, remove_model
from rankwell.models.base.tokens import TokenCounter, Truncation, default_tokenizer

__all__ = [
    "PairScorer",
    "TextEncoder",
    "TokenCounter",
    "Truncation",
    "add_models",
    "default_tokenizer",
    "describe",
    "export_model",
    "fetched_models",
    "find_model",
    "known_models",
    "load_pair_scorer",
    "load_text_encoder",
    "measure_drift",
    "remove_model",
]
