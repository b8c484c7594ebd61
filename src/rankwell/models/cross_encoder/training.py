"""Fine-tune a cross-encoder: query and document together through a transformer, one logit to rank by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.core.parameters import Text, Whole, param
from rankwell.models.base.tokens import PairTokens
from rankwell.models.learning.pair_batches import PairBatches, TokenisedPairs, padding_and_segments
from rankwell.models.learning.settings import RankerSettings
from rankwell.models.learning.starting_model import copy_tokenizer, freeze, load_classifier
from rankwell.models.learning.trainer import Job, Start, Training, pair_ranker, with_budget

KIND = "cross-encoder"
LOSS_NAMES = ("bce", "ranknet", "margin", "margin-mse", "listnet", "softmax", "lambda")


@dataclass(frozen=True, kw_only=True)
class CrossEncoderSettings(RankerSettings):
    """Settings for training a cross-encoder, besides those of all training.

    All losses but bce use lists of a query's documents; `batch_size` counts pairs either way. `max_tokens` and
    `query_tokens` are the limits of a pair, as in `rankwell rerank`.
    """

    loss: str = param("bce", "Loss: bce over pairs, or one over lists of documents.", Text(LOSS_NAMES))
    list_size: int = param(8, "Documents of a query that a loss over lists compares.", Whole(2))
    query_tokens: int | None = param(None, "Tokens of the query at most, out of max_tokens.", Whole(1), example=32)


def _prepare(start: Start[CrossEncoderSettings]) -> tuple[Job, CrossEncoderSettings]:
    settings, folder = start.settings, start.folder
    model = load_classifier(folder, settings.dropout)
    freeze(model, settings.freeze)
    tokens = PairTokens(folder.load_tokenizer(), settings.max_tokens or 0, settings.query_tokens)
    training, held_out = start.tokenise(tokens, lambda pairs, progress: TokenisedPairs.of(pairs, tokens, progress))
    how = padding_and_segments(model.config)

    def write(model: Any, place: Path) -> None:
        model.save_pretrained(place)
        copy_tokenizer(folder.path, place, settings.max_tokens)

    validation = None if held_out is None else PairBatches(held_out, *how)
    return pair_ranker(model, PairBatches(training, *how), validation, settings, write)


train_cross_encoder: Training[CrossEncoderSettings] = Training(
    KIND,
    "Fine-tune a cross-encoder, which reads query and document together.",
    CrossEncoderSettings,
    _prepare,
    with_budget,
)
