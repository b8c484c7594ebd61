"""Fine-tune a cross-encoder: query and document together through a transformer, one logit to rank by."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankwell.core import Floats, Integers, Progress, RankwellError
from rankwell.core.parameters import Text, Whole, param
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import PairTokens
from rankwell.models.learning.data import Data
from rankwell.models.learning.pair_batches import PairBatches, TokenisedPairs
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import RankerSettings
from rankwell.models.learning.starting_model import copy_tokenizer, freeze, load_classifier
from rankwell.models.learning.trainer import Prepared, Training, pair_ranker, with_budget

log = logging.getLogger(__name__)

KIND = "cross-encoder"
Tokenised = TypeVar("Tokenised", bound=Sized)
LOSS_NAMES = ("bce", "ranknet", "margin", "margin-mse", "listnet", "softmax", "lambda")


@dataclass(frozen=True, kw_only=True)
class CrossEncoderSettings(RankerSettings):
    """Settings for training a cross-encoder, besides those of all training.

    `loss`: bce, ranknet, margin, margin-mse, listnet, softmax or lambda. All but bce use lists: a query's
    documents, at most `list_size` together; `batch_size` counts pairs either way. `max_tokens` and `query_tokens` are
    the limits of a pair, as in `rankwell rerank`. `measure` selects the step to keep.
    """

    loss: str = param("bce", "Loss: bce over pairs, or one over lists of documents.", Text(LOSS_NAMES))
    list_size: int = param(8, "Documents of a query that a loss over lists compares.", Whole(2))
    query_tokens: int | None = param(None, "Tokens of the query at most, out of max_tokens.", Whole(1), example=32)


def _prepare(
    run: RunFolder,  # noqa: ARG001 -- a family may write more than weights there
    data: Data,
    folder: ModelFolder,
    settings: CrossEncoderSettings,
    *,
    quiet: bool,
) -> Prepared[CrossEncoderSettings]:
    model = load_classifier(folder, settings.dropout)
    freeze(model, settings.freeze)
    tokens = PairTokens(folder.load_tokenizer(), settings.max_tokens or 0, settings.query_tokens)
    training, held_out = tokenise(
        data, tokens, lambda pairs, progress: TokenisedPairs.of(pairs, tokens, progress), quiet=quiet
    )
    how = padding_and_segments(model.config)

    def write(model: Any, place: Path) -> None:
        model.save_pretrained(place)
        copy_tokenizer(folder.path, place, settings.max_tokens or 0)

    validation = None if held_out is None else PairBatches(held_out, *how)
    return pair_ranker(model, PairBatches(training, *how), validation, settings, write)


def tokenise(
    data: Data,
    tokens: Any,
    make: Callable[[Pairs, Progress], Tokenised],
    *,
    quiet: bool,
    unit: str = "pairs",
    cut: str = "documents",
) -> tuple[Tokenised, Tokenised | None]:
    """What a family makes of the training and of the validation pairs; `tokens` truncates both alike and counts."""
    parts = (data.training, data.validation)
    total = sum(len(part) for part in parts if part is not None) if unit == "pairs" else None
    with Progress("tokenising", unit=unit, total=total, quiet=quiet) as progress:
        training, held_out = (None if part is None else make(part, progress) for part in parts)
    if tokens.truncated.documents_cut or tokens.truncated.queries_cut:
        log.warning("%s", str(tokens.truncated).replace("documents", cut))
    if training is None or not len(training):
        raise RankwellError(f"{data.training.folder}: expected pairs to train on, found none")
    return training, held_out


def padding_and_segments(config: Any) -> tuple[int, bool]:
    """The id of a model's padding token, and whether it has segment ids."""
    return int(getattr(config, "pad_token_id", 0) or 0), int(getattr(config, "type_vocab_size", 0) or 0) > 1


def label_columns(pairs: Pairs) -> tuple[Floats, Integers, Sequence[str], Sequence[str]]:
    """The labels, groups, query ids and document ids of pairs."""
    labels, groups, *ids = (pairs.column(name) for name in ("label", "group", "query_id", "document_id"))
    return np.array(labels, dtype=np.float32), np.array(groups, dtype=np.int64), ids[0], ids[1]


train_cross_encoder = Training(
    KIND,
    "Fine-tune a cross-encoder, which reads query and document together.",
    CrossEncoderSettings,
    _prepare,
    with_budget,
)
