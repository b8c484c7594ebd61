"""BM25 of a review's title over its records."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import numpy as np

from rankwell.core import Document, Queries
from rankwell.index import Index, IndexWriter
from rankwell.rank import BM25
from rankwell.reviews.screening.learner import Scores


def topic_scores(records: Sequence[str], topic: str, k1: float = 1.2, b: float = 0.75) -> Scores:
    """A score for every record, from an index that is made for it and thrown away; 0 without a word of the topic."""
    scores = np.zeros(len(records))
    with tempfile.TemporaryDirectory(prefix="rankwell-", ignore_cleanup_errors=True) as folder:
        with IndexWriter(folder) as writer:
            for place, record in enumerate(records):
                writer.add(Document(str(place), {"text": record}))
        first = BM25(Index.open(folder), k1=k1, b=b, k=max(1, len(records)))
        ranking = first(Queries.of({"topic": topic}))["topic"]
    scores[[int(docno) for docno in ranking.docnos.tolist()]] = ranking.scores
    return scores
