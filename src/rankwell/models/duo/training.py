"""Fine-tune duoBERT, and evaluate it on validation queries."""

from __future__ import annotations

import logging
import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import SILENT, Floats, Integers, Progress, RankwellError, sigmoid
from rankwell.core.parameters import Whole, like, param
from rankwell.models.base.folder import ModelFolder, RankerRecord
from rankwell.models.base.tokens import Tokens
from rankwell.models.base.torch_model import padded_tensors
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.duo.ranking import DUO, Heads, TripleTokens, draw_others
from rankwell.models.learning.pair_batches import WINDOW, PairLabels, label_columns, padding_and_segments, rows_by_query
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.settings import RankerSettings
from rankwell.models.learning.starting_model import copy_tokenizer, freeze, load_classifier, longest_input, token_budget
from rankwell.models.learning.trainer import Job, Start, Training
from rankwell.models.learning.validation import ranking_measures, scores_of, validation_measures

log = logging.getLogger(__name__)

SEGMENTS = 3  # of the query, the first document and the second


@dataclass(frozen=True, eq=False)
class Triples:
    """Triples by row numbers of pairs: label 1 if document `one[t]` is more relevant than `other[t]`, else 0."""

    one: Integers
    other: Integers
    labels: Floats

    def __len__(self) -> int:
        return len(self.labels)


def triples_of(groups: Integers, labels: Floats, query_ids: Sequence[str], *, others: int, seed: int) -> Triples:
    """Each document of a query with at most `others` less relevant ones, in both orders.

    Equally relevant documents are never compared (document-ranking study, 3.1.2). Sampled by seed and query alone.
    """
    chosen: list[tuple[int, int]] = []
    for rows in rows_by_query(groups):
        if not len(rows):
            continue
        lots = random.Random(f"{seed}/{query_ids[rows[0]]}")  # noqa: S311 -- reproducible, no secret
        for row in rows.tolist():
            below = rows[labels[rows] < labels[row]].tolist()
            chosen += [(row, lower) for lower in sorted(lots.sample(below, min(others, len(below))))]
    if not chosen:
        raise RankwellError(
            f"pairs: expected queries with documents of different labels, to compare two of them, found none among "
            f"{len(np.unique(groups)):,} queries: add negatives"
        )
    better, worse = np.array(chosen, dtype=np.int64).T
    both = np.stack([better, worse], axis=1)
    return Triples(both.ravel(), both[:, ::-1].ravel(), np.tile(np.array([1, 0], dtype=np.float32), len(chosen)))


@dataclass(frozen=True, eq=False)
class TokenisedTexts(PairLabels):
    """The query and the document of every pair, each truncated to its largest size in a triple."""

    queries: list[Heads]
    documents: list[Heads]

    @classmethod
    def of(cls, pairs: Pairs, tokens: TripleTokens, progress: Progress = SILENT) -> TokenisedTexts:
        """Tokenise all texts, which are not stored; a repeated query once."""
        queries: list[Heads] = []
        documents: list[Heads] = []
        known: dict[str, Heads] = {}
        for batch in pairs.batches(["query", "document"], WINDOW):
            asked, texts = batch["query"].to_pylist(), batch["document"].to_pylist()
            known |= tokens.heads((query for query in asked if query not in known), tokens.query_tokens)
            queries += [known[query] for query in asked]
            of_batch = tokens.heads(texts, tokens.document_tokens)
            documents += [of_batch[text] for text in texts]
            progress.advance(len(asked))
        return cls(*label_columns(pairs), queries, documents)

    @property
    def labelled(self) -> tuple[Integers, Floats, Sequence[str]]:
        """What documents are compared by: their groups, labels and query ids."""
        return self.groups, self.labels, self.query_ids


@dataclass(frozen=True)
class TripleBatches:
    """Makes the input of a duo model for some triples, padded to the longest."""

    texts: TokenisedTexts
    triples: Triples
    tokens: TripleTokens
    padding: int
    segments: bool  # whether the model has segment ids

    def __call__(self, examples: Sequence[int]) -> dict[str, Any]:
        """A batch of triples by position."""
        import torch

        places = np.array(examples, dtype=np.int64)
        return {**self.inputs(places), "labels": torch.from_numpy(self.triples.labels[places])}

    def inputs(self, places: Integers) -> dict[str, Any]:
        """The model's input for these triples."""
        triples = [self.joined(place) for place in places.tolist()]
        return padded_tensors(triples, self.padding, segments=self.segments)

    def joined(self, place: int) -> Tokens:
        """The tokens of one triple."""
        one, other = int(self.triples.one[place]), int(self.triples.other[place])
        return self.tokens.join(self.texts.queries[one], self.texts.documents[one], self.texts.documents[other])

    def lengths(self) -> Integers:
        """The number of tokens of each triple."""
        return np.array([len(self.joined(place).ids) for place in range(len(self.triples))], dtype=np.int64)


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
        logits = scores_of(model, self.batches.inputs, self.lengths)
        won = sigmoid(logits)
        scores = np.zeros(len(texts), dtype=np.float64)
        np.add.at(scores, triples.one, won)
        unequal = texts.labels[triples.one] != texts.labels[triples.other]
        right = ((won > 0.5) == (triples.labels > 0.5))[unequal]  # noqa: PLR2004 -- more likely than not
        measures = {
            "loss": float(np.logaddexp(0, np.where(triples.labels > 0, -logits, logits))[unequal].mean()),
            "comparisons right": float(right.mean()),
            **ranking_measures(texts, scores.astype(np.float32), self.measures),
        }
        return {name: value for name, value in measures.items() if np.isfinite(value)}


def comparisons(groups: Integers, labels: Floats, query_ids: Sequence[str], *, others: int, seed: int) -> Triples:
    """Each document with at most `others` of its query, whatever their labels."""
    one: list[int] = []
    other: list[int] = []
    for rows in rows_by_query(groups):
        lots = np.random.default_rng([seed, zlib.crc32(query_ids[rows[0]].encode())])
        first, second = np.nonzero(draw_others(len(rows), others, lots))
        one += rows[first].tolist()
        other += rows[second].tolist()
    ahead, behind = np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)
    return Triples(ahead, behind, (labels[ahead] > labels[behind]).astype(np.float32))


@dataclass(frozen=True, kw_only=True)
class DuoSettings(RankerSettings):
    """Settings for training a duo model, besides those of all training; the loss is binary cross-entropy.

    Two documents are compared in both orders: these are the examples that `epochs` and `batch_size` count.
    """

    others: int = param(8, "Pair each document with at most N less relevant ones.", Whole(1))
    validation_others: int = param(8, "When validating, pair each document with at most N others.", Whole(1))
    batch_size: int = like(RankerSettings, "batch_size", help="Batch size: triples that are run together.")
    max_tokens: int | None = like(
        RankerSettings, "max_tokens", help="Tokens of a query and two documents (default: all that the model takes)."
    )
    query_tokens: int | None = like(CrossEncoderSettings, "query_tokens")


def _complete(folder: ModelFolder, settings: DuoSettings) -> DuoSettings:
    """The settings with all tokens that the model takes as default, because two documents are long."""
    return replace(settings, max_tokens=token_budget(folder, settings.max_tokens or longest_input(folder)))


def _prepare(start: Start[DuoSettings]) -> tuple[Job, DuoSettings]:
    from torch.nn.functional import binary_cross_entropy_with_logits

    settings, folder = start.settings, start.folder
    model = load_duo_classifier(folder, settings.dropout)
    freeze(model, settings.freeze)
    training, held_out = _batches(start, model.config)
    validate = None
    if held_out is not None:
        measures = validation_measures(held_out.texts, settings.measure)
        validate = DuoValidation(held_out, held_out.lengths(), measures)
    if len(training.triples) < settings.batch_size:
        log.warning("%s triples are fewer than a batch of %s", len(training.triples), settings.batch_size)
    examples, lengths = range(len(training.triples)), training.lengths().tolist()

    def loss_of(model: Any, batch: dict[str, Any]) -> Any:
        given = {name: tensor for name, tensor in batch.items() if name != "labels"}
        return binary_cross_entropy_with_logits(model(**given).logits.reshape(-1).float(), batch["labels"])

    def write(model: Any, place: Path) -> None:
        model.save_pretrained(place)
        copy_tokenizer(folder.path, place, settings.max_tokens)
        budgets = {"max_tokens": settings.max_tokens or 0, "query_tokens": settings.query_tokens}
        RankerRecord(DUO, budgets).write(place)

    job = Job(model, examples, training, loss_of, write, validate, lengths=lengths)
    return job.decided_by(settings.measure), settings


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


def _batches(start: Start[DuoSettings], config: Any) -> tuple[TripleBatches, TripleBatches | None]:
    """The triples for training, and the comparisons for validation."""
    settings = start.settings
    tokens = TripleTokens(start.folder.load_tokenizer(), settings.max_tokens or 0, settings.query_tokens)
    training, held_out = start.tokenise(tokens, lambda pairs, progress: TokenisedTexts.of(pairs, tokens, progress))
    how = (tokens, *padding_and_segments(config))
    learnt = triples_of(*training.labelled, others=settings.others, seed=settings.seed)
    batches = TripleBatches(training, learnt, *how)
    if held_out is None:
        return batches, None
    compared = comparisons(*held_out.labelled, others=settings.validation_others, seed=settings.seed)
    return batches, TripleBatches(held_out, compared, *how)


train_duo: Training[DuoSettings] = Training(
    DUO,
    "Fine-tune duoBERT, which predicts which of two documents is more relevant.",
    DuoSettings,
    _prepare,
    _complete,
)
