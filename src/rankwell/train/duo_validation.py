"""How well a duo model ranks the documents of queries that it is not trained on."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core.arrays import Floats, Integers
from rankwell.core.scales import sigmoid
from rankwell.rerank.duo_aggregates import Sample
from rankwell.train.duo_tokens import TripleBatches
from rankwell.train.triples import Triples
from rankwell.train.validation import BATCH_TOKENS, ranking_measures


@dataclass(frozen=True)
class DuoValidation:
    """Compares validation documents, and measures the ranking by the sum of p_ij and the comparisons themselves.

    `batches` has the comparisons: each document with at most so many others of its query (`comparisons`).
    """

    batches: TripleBatches
    lengths: Integers
    measures: Sequence[str]

    def __call__(self, model: Any) -> Mapping[str, float]:
        """The loss, the share of comparisons that come out right, and every measure that has a value."""
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
    """Every document against at most `others` of its query, whatever their labels."""
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
    """The logit of every triple, the longest first, as many together as fit."""
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
