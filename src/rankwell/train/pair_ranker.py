"""Training any model that gives a pair of query and document one logit: on single pairs, or on lists of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import Integers
from rankwell.evaluate import parse_measure
from rankwell.train.lists import query_lists, single_pairs
from rankwell.train.pair_tokens import PairBatches, TokenisedPairs
from rankwell.train.run_folder import RunFolder
from rankwell.train.trainer import Job, TrainingResult, train_job
from rankwell.train.validation import RankingValidation, measures_to_take

if TYPE_CHECKING:
    from rankwell.train.cross_encoder import CrossEncoderSettings

log = logging.getLogger(__name__)


def pair_ranker_job(
    model: Any,
    training: PairBatches,
    held_out: PairBatches | None,
    settings: CrossEncoderSettings,
    write: Callable[[Any, Path], None],
) -> Job:
    """What is to be done; the model is called with what the batches give, and answers with `logits`."""
    from rankwell.train.losses import loss_named

    loss = loss_named(settings.loss)
    decisive = str(parse_measure(settings.measure))
    examples, lengths = examples_of(training.pairs, settings, lists=loss.lists), training.pairs.lengths
    validate = None if held_out is None else RankingValidation(held_out, measures_to_take(decisive), loss)

    def loss_of(model: Any, batch: dict[str, Any]) -> Any:
        given = {name: tensor for name, tensor in batch.items() if name not in ("labels", "sizes")}
        return loss(model(**given).logits.reshape(-1).float(), batch["labels"], batch["sizes"].tolist())

    return Job(
        model=model,
        examples=examples,
        collate=training,
        loss=loss_of,
        write_model=write,
        validate=validate,
        measure=None if validate is None else decisive,
        higher_is_better=parse_measure(decisive).higher_is_better,
        lengths=[int(lengths[rows].max()) for rows in examples],
    )


def train_pair_ranker(run: RunFolder, job: Job, settings: CrossEncoderSettings, *, quiet: bool) -> TrainingResult:
    """Train; `batch_size` counts pairs, also where the examples are lists of them."""
    from rankwell.train.losses import loss_named

    lists = loss_named(settings.loss).lists
    a_batch = max(1, settings.batch_size // settings.list_size) if lists else settings.batch_size
    return train_job(run, job, replace(settings, batch_size=a_batch), quiet=quiet)


def examples_of(pairs: TokenisedPairs, settings: CrossEncoderSettings, *, lists: bool) -> list[Integers]:
    """What the loss sees: pairs, or lists of them; refused where nothing can be learnt from them."""
    labels = pairs.labels
    if labels.min() == labels.max():
        raise RankwellError(
            f"pairs: expected pairs of both kinds, relevant and not, found {len(pairs):,} with the label "
            f"{labels.min():g} alone"
        )
    if not lists:
        if labels.min() < 0 or labels.max() > 1:
            raise RankwellError(
                f"pairs: expected labels from 0 to 1 for the loss {settings.loss}, found {labels.min():g} to "
                f"{labels.max():g}: choose another loss, or make the pairs with a minimum grade"
            )
        examples = single_pairs(len(pairs))
    else:
        examples = query_lists(pairs.groups, labels, settings.list_size)
        if not examples:
            raise RankwellError(
                f"pairs: expected queries with documents of different labels for the loss {settings.loss}, found none "
                f"among {len(np.unique(pairs.groups)):,} queries: add negatives, or train with --loss bce"
            )
    if sum(map(len, examples)) < settings.batch_size:
        log.warning("%s pairs are fewer than a batch of %s", f"{sum(map(len, examples)):,}", settings.batch_size)
    return examples
