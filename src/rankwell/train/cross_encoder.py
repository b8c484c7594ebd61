"""Fine-tuning a cross-encoder: query and document together through a transformer, one logit to rank by."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.tokens import PairTokens, Tokenizer
from rankwell.evaluate import parse_measure
from rankwell.train.data import Data
from rankwell.train.freezing import freeze
from rankwell.train.pair_ranker import pair_ranker_job, train_pair_ranker
from rankwell.train.pair_tokens import PairBatches, TokenisedPairs
from rankwell.train.pairs import Pairs
from rankwell.train.run_folder import RunFolder
from rankwell.train.settings import TrainingSettings
from rankwell.train.starting_model import copy_tokenizer, find_trainable, load_classifier, token_budget
from rankwell.train.trainer import TrainingResult, going_on, needs_training, set_up
from rankwell.train.validation import check_validation

log = logging.getLogger(__name__)

KIND = "cross-encoder"


@dataclass(frozen=True, kw_only=True)
class CrossEncoderSettings(TrainingSettings):
    """How a cross-encoder is trained, beside what all training has.

    `loss`: bce, ranknet, margin, margin-mse, listnet, softmax or lambda. All but bce look at lists: a query's
    documents, at most `list_size` together; `batch_size` counts pairs either way. `max_tokens` and `query_tokens` are
    the budgets of a pair, as in `rankwell rerank`. `measure` decides which step is kept.
    """

    loss: str = "bce"
    list_size: int = 8
    max_tokens: int | None = None
    query_tokens: int | None = None
    measure: str = "nDCG@10"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_measure(self.measure)
        if self.list_size < 2:  # noqa: PLR2004 -- nothing can be compared with itself
            raise ParameterError("list_size", expected="a number from 2", found=self.list_size)


def train_cross_encoder(
    pairs: Pairs | Path | str,
    out: Path | str,
    *,
    model: str,
    settings: CrossEncoderSettings | None = None,
    validation: Pairs | Path | str | float | None = 0.1,
    resume: bool = False,
    quiet: bool = False,
) -> TrainingResult:
    """Train on pairs and leave a run folder.

    `validation`: pairs of other queries, a folder of them, or the share of the queries to hold out; None or 0 for
    none, and then the weights of the last step are kept. With `resume` a run in `out` that is not finished goes on.
    """
    needs_training("training a cross-encoder")
    from rankwell.train.losses import loss_named

    settings = settings or CrossEncoderSettings()
    loss_named(settings.loss)
    folder = find_trainable(model)
    data = Data.of(pairs, validation, settings.seed)
    settings = replace(settings, max_tokens=token_budget(folder, settings.max_tokens))
    run = data.run_folder(out, KIND, settings.as_dict(), folder, resume=resume)
    return _train(run, data, folder, going_on(run, settings), quiet=quiet)


def resume_cross_encoder(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Go on with a run that was killed."""
    needs_training("training a cross-encoder")
    settings = going_on(run, CrossEncoderSettings.from_dict(run.settings))
    return _train(run, Data.reopen(run), Data.model_of(run), settings, quiet=quiet)


def _train(
    run: RunFolder, data: Data, folder: ModelFolder, settings: CrossEncoderSettings, *, quiet: bool
) -> TrainingResult:
    set_up(settings)
    with run.preparing():
        model = load_classifier(folder, settings.dropout)
        freeze(model, settings.freeze)
        training, held_out = _tokenised(data, folder, settings, model, quiet=quiet)

        def write(model: Any, place: Path) -> None:
            model.save_pretrained(place)
            copy_tokenizer(folder.path, place, settings.max_tokens or 0)

        job = pair_ranker_job(model, training, held_out, settings, write)
        if held_out is not None:
            check_validation(held_out.pairs, str(parse_measure(settings.measure)))
    return train_pair_ranker(run, job, settings, quiet=quiet)


def _tokenised(
    data: Data, folder: ModelFolder, settings: CrossEncoderSettings, model: Any, *, quiet: bool
) -> tuple[PairBatches, PairBatches | None]:
    """The tokens of the training and of the validation pairs, cut alike."""
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
