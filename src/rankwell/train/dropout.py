"""Dropout by one number, whatever an architecture calls its own."""

from __future__ import annotations

from typing import Any

# BERT and its kin; DistilBERT; ModernBERT; ALBERT; DeBERTa
NAMES = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"),
    *("dropout", "attention_dropout", "seq_classif_dropout"),
    *("embedding_dropout", "mlp_dropout"),
    *("classifier_dropout_prob",),
    *("pooler_dropout", "cls_dropout"),
)


def with_dropout(config: Any, dropout: float | None) -> Any:
    """The configuration of a model with this dropout everywhere it has one; None leaves it as it is."""
    if dropout is not None:
        for name in NAMES:
            if hasattr(config, name):
                setattr(config, name, dropout)
    return config
