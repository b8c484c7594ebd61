"""What records mean, beside the words that they are written in: a model's vectors as further columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.reviews.screening.reader import Vectors

SHARE = 0.5
"""The length of a record's vector beside its words, whose row has length 1."""


class Meaning(NamedTuple):
    """A row for each record and one for the review's title, from the same model, and that model's name."""

    records: Vectors
    topic: Vectors
    model: str = ""


def with_meaning(rows: Any, topic: Any, meaning: Meaning, share: float = SHARE) -> tuple[Any, Any]:
    """The features of `text_features` with those columns added.

    All texts of a review are alike to a model: what they have in common (the mean) is taken away first, and what is
    left gets the length `share`. So a product of two rows is  cosine of words + share^2 * cosine of meanings.
    """
    from scipy.sparse import csr_matrix, hstack

    if len(meaning.records) != rows.shape[0]:
        found = Phrase(f"{rows.shape[0]} records, {len(meaning.records)} vectors")
        raise ParameterError("meaning", expected="a vector for every record", found=found)
    mean = meaning.records.mean(axis=0)
    both = ((rows, meaning.records), (topic, meaning.topic.reshape(1, -1)))
    wide = [hstack([words, csr_matrix(_length(vectors - mean, share))]).tocsr() for words, vectors in both]
    return wide[0], wide[1]


def _length(vectors: Vectors, length: float) -> Any:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return length * vectors.astype(np.float64) / np.maximum(norms, 1e-12)
