"""Transformer models: fetching them, and running them on texts and pairs of texts."""

from __future__ import annotations

from rankwell.models.base.adding import add_model, add_models, remove_model
from rankwell.models.base.drift import Drift, measure_drift
from rankwell.models.base.pairs import PairScorer, load_pair_scorer
from rankwell.models.base.publishing import Fact, describe, export_model
from rankwell.models.base.sources import KnownModel, default_tokenizer, fetched_models, find_model, known_models
from rankwell.models.base.texts import TextEncoder, load_text_encoder
from rankwell.models.base.tokens import TokenCounter, Truncation

__all__ = [
    "Drift",
    "Fact",
    "KnownModel",
    "PairScorer",
    "TextEncoder",
    "TokenCounter",
    "Truncation",
    "add_model",
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
