"""Fine-tuning duoBERT: a query and two documents through a transformer that says whether the first one is better."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.tokens import Tokenizer
from rankwell.evaluate import parse_measure
from rankwell.rerank.duo_scorer import DUO, duo_record
from rankwell.rerank.duo_tokens import TripleTokens
from rankwell.train.data import Data
from rankwell.train.duo_tokens import TokenisedTexts, TripleBatches
from rankwell.train.duo_validation import DuoValidation, comparisons
from rankwell.train.freezing import freeze
from rankwell.train.pairs import Pairs
from rankwell.train.run_folder import RunFolder
from rankwell.train.settings import TrainingSettings
from rankwell.train.starting_model import copy_tokenizer, find_trainable, load_classifier, longest_input
from rankwell.train.trainer import Job, TrainingResult, going_on, needs_training, set_up, train_job
from rankwell.train.triples import triples_of
from rankwell.train.validation import check_validation, measures_to_take

log = logging.getLogger(__name__)

SEGMENTS = 3  # of the query, the first document and the second


@dataclass(frozen=True, kw_only=True)
class DuoSettings(TrainingSettings):
    """How a duo model is trained, beside what all training has; the loss is binary cross-entropy.

    Each document of a query is compared with at most `others` that are less relevant, in both orders: these are the
    examples that `epochs` and `batch_size` count. When measuring, each validation document is compared with at most
    `validation_others` of its query. `max_tokens` and `query_tokens` are the budgets of a triple.
    """

    others: int = 8
    validation_others: int = 8
    max_tokens: int | None = None
    query_tokens: int | None = None
    measure: str = "nDCG@10"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_measure(self.measure)
        for name in ("others", "validation_others"):
            if getattr(self, name) < 1:
                raise ParameterError(name, expected="a number from 1", found=getattr(self, name))


def train_duo(
    pairs: Pairs | Path | str,
    out: Path | str,
    *,
    model: str,
    settings: DuoSettings | None = None,
    validation: Pairs | Path | str | float | None = 0.1,
    resume: bool = False,
    quiet: bool = False,
) -> TrainingResult:
    """Train on the triples of pairs; see `train_cross_encoder` for what the arguments mean."""
    needs_training("training a duo model")
    settings = settings or DuoSettings()
    folder = find_trainable(model)
    data = Data.of(pairs, validation, settings.seed)
    settings = replace(settings, max_tokens=triple_budget(folder, settings.max_tokens))
    run = data.run_folder(out, DUO, settings.as_dict(), folder, resume=resume)
    return _train(run, data, folder, going_on(run, settings), quiet=quiet)


def resume_duo(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Go on with a run that was killed."""
    needs_training("training a duo model")
    settings = going_on(run, DuoSettings.from_dict(run.settings))
    return _train(run, Data.reopen(run), Data.model_of(run), settings, quiet=quiet)


def triple_budget(folder: ModelFolder, wanted: int | None) -> int:
    """How many tokens a triple has at most: as asked, or all that the model takes, because two documents are long."""
    longest = longest_input(folder)
    if wanted is not None and not 1 <= wanted <= longest:
        raise ParameterError("max_tokens", expected=f"a number up to {longest} for {folder.name}", found=wanted)
    return wanted or longest


def _train(run: RunFolder, data: Data, folder: ModelFolder, settings: DuoSettings, *, quiet: bool) -> TrainingResult:
    from torch.nn.functional import binary_cross_entropy_with_logits

    set_up(settings)
    decisive = str(parse_measure(settings.measure))
    with run.preparing():
        model = load_duo_classifier(folder, settings.dropout)
        freeze(model, settings.freeze)
        training, held_out = _batches(data, folder, settings, model.config, quiet=quiet)
        if held_out is not None:
            check_validation(held_out.texts, decisive)
        if len(training.triples) < settings.batch_size:
            log.warning("%s triples are fewer than a batch of %s", len(training.triples), settings.batch_size)
    validate = None if held_out is None else DuoValidation(held_out, held_out.lengths(), measures_to_take(decisive))

    def loss_of(model: Any, batch: dict[str, Any]) -> Any:
        given = {name: tensor for name, tensor in batch.items() if name != "labels"}
        return binary_cross_entropy_with_logits(model(**given).logits.reshape(-1).float(), batch["labels"])

    def write(model: Any, place: Path) -> None:
        model.save_pretrained(place)
        copy_tokenizer(folder.path, place, settings.max_tokens or 0)
        duo_record(settings.max_tokens or 0, settings.query_tokens).write(place)

    job = Job(
        model=model,
        examples=range(len(training.triples)),
        collate=training,
        loss=loss_of,
        write_model=write,
        validate=validate,
        measure=None if validate is None else decisive,
        higher_is_better=parse_measure(decisive).higher_is_better,
        lengths=training.lengths().tolist(),
    )
    return train_job(run, job, settings, quiet=quiet)


def load_duo_classifier(folder: ModelFolder, dropout: float | None) -> Any:
    """A classifier with one logit; where it knows two segments it gets a third, a copy of the second."""
    import torch

    model = load_classifier(folder, dropout)
    table = getattr(getattr(model.base_model, "embeddings", None), "token_type_embeddings", None)
    if table is None or table.num_embeddings != SEGMENTS - 1:
        return model
    wider = torch.nn.Embedding(SEGMENTS, table.embedding_dim)
    with torch.no_grad():
        wider.weight.copy_(torch.cat([table.weight, table.weight[-1:]]))
    model.base_model.embeddings.token_type_embeddings = wider
    model.config.type_vocab_size = SEGMENTS
    return model


def _batches(
    data: Data, folder: ModelFolder, settings: DuoSettings, config: Any, *, quiet: bool
) -> tuple[TripleBatches, TripleBatches | None]:
    """The triples to train on, and the comparisons to measure with."""
    tokenizer = Tokenizer(folder.tokenizer_file)
    folder.check_tokenizer(tokenizer.vocabulary)
    tokens = TripleTokens(tokenizer, settings.max_tokens or 0, settings.query_tokens)
    count = len(data.training) + (len(data.validation) if data.validation else 0)
    with Progress("tokenising", unit="pairs", total=count, quiet=quiet) as progress:
        training, held_out = (
            None if part is None else TokenisedTexts.of(part, tokens, progress)
            for part in (data.training, data.validation)
        )
    if training is None or not len(training):
        raise RankwellError(f"{data.training.folder}: expected pairs to train on, found none")
    segments = int(getattr(config, "type_vocab_size", 0) or 0) > 1
    padding = int(getattr(config, "pad_token_id", 0) or 0)
    given = (training.groups, training.labels, training.query_ids)
    learnt = triples_of(*given, others=settings.others, seed=settings.seed)
    batches = TripleBatches(training, learnt, tokens, padding, segments)
    if held_out is None:
        return batches, None
    given = (held_out.groups, held_out.labels, held_out.query_ids)
    compared = comparisons(*given, others=settings.validation_others, seed=settings.seed)
    return batches, TripleBatches(held_out, compared, tokens, padding, segments)
