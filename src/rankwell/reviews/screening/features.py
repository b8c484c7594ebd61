"""Records as vectors: words and pairs of words, weighted by how rare they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwell.core.errors import MissingExtraError, RankwellError

MOST = 0.95  # a word in more records than this tells nothing


def text_features(records: Sequence[str], topic: str = "") -> tuple[Any, Any]:
    """A sparse row for each record, and one for the topic in the same columns.

    Words and pairs of neighbouring words as they are written, without case; (1 + ln tf) * idf, rows of length 1. Word
    forms are kept: on the reviews that this was chosen on, stemmed words found the last relevant records later.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("screening", extra="reviews") from error
    most = MOST if len(records) > 1 else 1.0
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=most)
    try:
        rows = vectorizer.fit_transform(records)
    except ValueError as error:  # the library's word for "nothing but white space"
        raise RankwellError(f"records: expected texts with words, found {len(records)} without any") from error
    return rows.tocsr(), vectorizer.transform([topic]).tocsr()
