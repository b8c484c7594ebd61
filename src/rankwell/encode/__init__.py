"""Transformers: where models come from, and running them fast on texts and pairs of texts."""

from __future__ import annotations

from rankwell.encode.adding import add_model, add_models, remove_model
from rankwell.encode.description import Fact, describe
from rankwell.encode.drift import Drift, measure_drift
from rankwell.encode.models import (
    KnownModel,
    default_tokenizer,
    fetched_models,
    find_model,
    known_models,
)
from rankwell.encode.pairs import PairScorer, load_pair_scorer
from rankwell.encode.publishing import export_model
from rankwell.encode.texts import TextEncoder, load_text_encoder
from rankwell.encode.tokenizer import TokenCounter
from rankwell.encode.tokens import Truncation

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
