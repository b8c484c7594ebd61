"""Pairs for the review rankers: documents in parts, three relevant ones a query, told by their words."""

from __future__ import annotations

import random
from pathlib import Path

from rankwell.models.learning.pairs import Pair, Pairs, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from tiny_models import FILLERS, TOPICS


def review_pairs(folder: Path, *, queries: int = 12, relevant: int = 3, others: int = 3, titles: bool = True) -> Pairs:
    """Every query's relevant documents begin with its word, and their fillers are of another kind than others'."""
    lots = random.Random(5)  # noqa: S311 -- texts, not secrets
    extra = {"title": "string", "abstract": "string"} if titles else {}
    with PairsWriter(folder, made={"from": "a test"}, extra=extra) as writer:
        for query in range(queries):
            word = TOPICS[query % len(TOPICS)]
            for place in range(relevant + others):
                good = place < relevant
                first = word if good else lots.choice([topic for topic in TOPICS if topic != word])
                text = " ".join([first, *lots.choices(FILLERS[:10] if good else FILLERS[10:], k=lots.randint(3, 9))])
                parts = {"title": first, "abstract": f"{text} {query} {place}"} if titles else {}
                pair = Pair(f"q{query}", f"d{query}-{place}", word, f"{first} {text}", float(good))
                writer.add(pair, **parts)
    return open_pairs(folder)
