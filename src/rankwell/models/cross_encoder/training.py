"""Fine-tune a cross-encoder: query and document together through a transformer, one logit to rank by."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.core import Progress, RankwellError
from rankwell.core.parameters import Text, Whole, param
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import PairTokens, Tokenizer
from rankwell.models.learning.data import Data
from rankwell.models.learning.pair_batches import PairBatches, TokenisedPairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import RankerSettings
from rankwell.models.learning.starting_model import (
    copy_tokenizer,
    freeze,
    load_classifier,
)
from rankwell.models.learning.trainer import Prepared, Training, pair_ranker, with_budget

log = logging.getLogger(__name__)

KIND = "cross-encoder"
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
    training, held_out = _tokenised(data, folder, settings, model, quiet=quiet)

    def write(model: Any, place: Path) -> None:
        model.save_pretrained(place)
        copy_tokenizer(folder.path, place, settings.max_tokens or 0)

    return pair_ranker(model, training, held_out, settings, write)


def _tokenised(
    data: Data, folder: ModelFolder, settings: CrossEncoderSettings, model: Any, *, quiet: bool
) -> tuple[PairBatches, PairBatches | None]:
    """The tokens of the training and the validation pairs, truncated alike."""
    tokenizer = Tokenizer(folder.tokenizer_file)
    folder.check_tokenizer(tokenizer.vocabulary)
    tokens = PairTokens(tokenizer, settings.max_tokens or 0, settings.query_tokens)
    segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
    padding = int(getattr(model.config, "pad_token_id", 0) or 0)
    count = len(data.training) + (len(data.validation) if data.validation else 0)
    with Progress("tokenising", unit="pairs", total=count, quiet=quiet) as progress:
        training, held_out = (
            None if part is None else PairBatches(TokenisedPairs.of(part, tokens, progress), padding, segments)
            for part in (data.training, data.validation)
        )
    if tokens.truncated.documents_cut or tokens.truncated.queries_cut:
        log.warning("%s", tokens.truncated)
    if training is None or not len(training.pairs):
        raise RankwellError(f"{data.training.folder}: expected pairs to train on, found none")
    return training, held_out


train_cross_encoder = Training(
    KIND,
    "Fine-tune a cross-encoder, which reads query and document together.",
    CrossEncoderSettings,
    _prepare,
    with_budget,
)
