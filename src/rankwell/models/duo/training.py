"""Fine-tune duoBERT, and evaluate it on validation queries."""

from __future__ import annotations

import logging
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.core.arrays import Floats, Integers
from rankwell.core.parameters import Whole, like, param
from rankwell.core.run import sigmoid
from rankwell.evaluation import parse_measure
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import Tokenizer
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.duo.batches import TokenisedTexts, TripleBatches, Triples, triples_of
from rankwell.models.duo.ranking import Sample
from rankwell.models.duo.scorer import DUO, TripleTokens, duo_record
from rankwell.models.learning.data import Data
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import RankerSettings
from rankwell.models.learning.starting_model import (
    copy_tokenizer,
    freeze,
    load_classifier,
    longest_input,
)
from rankwell.models.learning.trainer import Job, Prepared, Training
from rankwell.models.learning.validation import BATCH_TOKENS, check_validation, measures_to_take, ranking_measures


@dataclass(frozen=True)
class DuoValidation:
    """Compares validation documents; measures the ranking by the sum of p_ij, and the accuracy of comparisons.

    `batches` has the comparisons: each document with a limited number of others of its query (`comparisons`).
    """

    batches: TripleBatches
    lengths: Integers
    measures: Sequence[str]

    def __call__(self, model: Any) -> Mapping[str, float]:
        """The loss, the accuracy of the comparisons, and all defined measures."""
        triples, texts = self.batches.triples, self.batches.texts
        logits = logits_of(model, self.batches, self.lengths)
        won = sigmoid(logits)
        scores = np.zeros(len(texts), dtype=np.float64)
        np.add.at(scores, triples.one, won)
        unequal = texts.labels[triples.one] != texts.labels[triples.other]
        right = ((won > 0.5) == (triples.labels > 0.5))[unequal]  # noqa: PLR2004 -- more likely than not
        found = {
            "loss": float(np.logaddexp(0, np.where(triples.labels > 0, -logits, logits))[unequal].mean()),
            "comparisons right": float(right.mean()),
            **ranking_measures(texts, scores.astype(np.float32), self.measures),
        }
        return {name: value for name, value in found.items() if math.isfinite(value)}


def comparisons(groups: Integers, labels: Floats, query_ids: Sequence[str], *, others: int, seed: int) -> Triples:
    """Each document with at most `others` of its query, whatever their labels."""
    one: list[int] = []
    other: list[int] = []
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        lots = np.random.default_rng([seed, zlib.crc32(query_ids[rows[0]].encode())])
        first, second = np.nonzero(Sample(others).against(len(rows), lots))
        one += rows[first].tolist()
        other += rows[second].tolist()
    ahead, behind = np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)
    return Triples(ahead, behind, (labels[ahead] > labels[behind]).astype(np.float32))


def logits_of(model: Any, batches: TripleBatches, lengths: Integers) -> Floats:
    """The logit of each triple; scored from long to short in batches that fit."""
    import torch

    found = np.zeros(len(lengths), dtype=np.float32)
    order = np.argsort(-lengths, kind="stable")
    device = next(model.parameters()).device
    start = 0
    with torch.inference_mode():
        while start < len(order):
            places = order[start : start + max(1, BATCH_TOKENS // int(lengths[order[start]]))]
            given = {name: tensor.to(device) for name, tensor in batches.inputs(places).items()}
            found[places] = model(**given).logits.reshape(-1).float().cpu().numpy()
            start += len(places)
    return found


log = logging.getLogger(__name__)

SEGMENTS = 3  # of the query, the first document and the second


@dataclass(frozen=True, kw_only=True)
class DuoSettings(RankerSettings):
    """Settings for training a duo model, besides those of all training; the loss is binary cross-entropy.

    Each document of a query is compared with at most `others` less relevant ones, in both orders: these are the
    examples that `epochs` and `batch_size` count. In validation each document is compared with at most
    `validation_others` of its query. `max_tokens` and `query_tokens` are the token limits of a triple.
    """

    others: int = param(8, "Pair each document with at most N less relevant ones.", Whole(1))
    validation_others: int = param(8, "When validating, pair each document with at most N others.", Whole(1))
    batch_size: int = like(RankerSettings, "batch_size", help="Batch size: triples that are run together.")
    max_tokens: int | None = like(
        RankerSettings, "max_tokens", help="Tokens of a query and two documents (default: all that the model takes)."
    )
    query_tokens: int | None = like(CrossEncoderSettings, "query_tokens")


def triple_budget(folder: ModelFolder, wanted: int | None) -> int:
    """Tokens per triple: as asked for, or all that the model takes, because two documents are long."""
    longest = longest_input(folder)
    if wanted is not None and not 1 <= wanted <= longest:
        raise ParameterError("max_tokens", expected=f"a number up to {longest} for {folder.name}", found=wanted)
    return wanted or longest


def _prepare(
    run: RunFolder,  # noqa: ARG001 -- a family may write more than weights there
    data: Data,
    folder: ModelFolder,
    settings: DuoSettings,
    *,
    quiet: bool,
) -> Prepared[DuoSettings]:
    from torch.nn.functional import binary_cross_entropy_with_logits

    decisive = str(parse_measure(settings.measure))
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
    return Prepared(job, settings)


def load_duo_classifier(folder: ModelFolder, dropout: float | None) -> Any:
    """A classifier with one logit; a model with two segments gets a third, a copy of the second."""
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
    """The triples for training, and the comparisons for validation."""
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


train_duo = Training(
    DUO,
    "Fine-tune duoBERT, which predicts which of two documents is more relevant.",
    DuoSettings,
    _prepare,
    lambda folder, settings: replace(settings, max_tokens=triple_budget(folder, settings.max_tokens)),
)
