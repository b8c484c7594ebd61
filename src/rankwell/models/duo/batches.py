"""Triples of a query and two of its documents, as token ids and in batches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import Progress, RankwellError
from rankwell.core.arrays import Floats, Integers
from rankwell.core.progress import SILENT
from rankwell.models.base.tokens import Tokens
from rankwell.models.duo.scorer import Heads, TripleTokens
from rankwell.models.learning.pairs import Pairs
from rankwell.models.parade.scorer import padded


@dataclass(frozen=True, eq=False)
class Triples:
    """Triples by row numbers of pairs: label 1 if document `one[t]` is more relevant than `other[t]`, else 0."""

    one: Integers
    other: Integers
    labels: np.ndarray[Any, np.dtype[np.float32]]

    def __len__(self) -> int:
        return len(self.labels)


def triples_of(groups: Integers, labels: Floats, query_ids: Sequence[str], *, others: int, seed: int) -> Triples:
    """Each document of a query with at most `others` less relevant ones, in both orders.

    Equally relevant documents are never compared (document-ranking study, 3.1.2). Sampled by seed and query alone.
    """
    found: list[tuple[int, int]] = []
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if not len(rows):
            continue
        lots = random.Random(f"{seed}/{query_ids[rows[0]]}")  # noqa: S311 -- reproducible, no secret
        for row in rows.tolist():
            below = rows[labels[rows] < labels[row]].tolist()
            found += [(row, lower) for lower in sorted(lots.sample(below, min(others, len(below))))]
    if not found:
        raise RankwellError(
            f"pairs: expected queries with documents of different labels, to compare two of them, found none among "
            f"{len(np.unique(groups)):,} queries: add negatives"
        )
    better, worse = np.array(found, dtype=np.int64).T
    both = np.stack([better, worse], axis=1)
    return Triples(both.ravel(), both[:, ::-1].ravel(), np.tile(np.array([1, 0], dtype=np.float32), len(found)))


WINDOW = 4096  # pairs tokenised together


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """The query and the document of every pair, each truncated to its largest size in a triple."""

    queries: list[Heads]
    documents: list[Heads]
    labels: np.ndarray[Any, np.dtype[np.float32]]
    groups: Integers
    query_ids: Sequence[str]
    document_ids: Sequence[str]

    @classmethod
    def of(cls, pairs: Pairs, tokens: TripleTokens, progress: Progress = SILENT) -> TokenisedTexts:
        """Tokenise all texts, which are not stored; a repeated query once."""
        queries: list[Heads] = []
        documents: list[Heads] = []
        known: dict[str, Heads] = {}
        for batch in pairs.batches(["query", "document"], WINDOW):
            asked = batch["query"].to_pylist()
            new = [query for query in dict.fromkeys(asked) if query not in known]
            known.update(zip(new, tokens.query_heads(new), strict=True))
            queries += [known[query] for query in asked]
            documents += tokens.document_heads(batch["document"].to_pylist())
            progress.advance(len(asked))
        return cls(
            queries,
            documents,
            np.array(pairs.column("label"), dtype=np.float32),
            np.array(pairs.column("group"), dtype=np.int64),
            pairs.column("query_id"),
            pairs.column("document_id"),
        )

    def __len__(self) -> int:
        return len(self.labels)


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
        import torch

        made = padded([self.joined(place) for place in places.tolist()], self.padding)
        given = {"input_ids": made.ids, "attention_mask": made.mask}
        given |= {"token_type_ids": made.types} if self.segments else {}
        return {name: torch.from_numpy(array) for name, array in given.items()}

    def joined(self, place: int) -> Tokens:
        """The tokens of one triple."""
        one, other = int(self.triples.one[place]), int(self.triples.other[place])
        return self.tokens.join(self.texts.queries[one], self.texts.documents[one], self.texts.documents[other])

    def lengths(self) -> Integers:
        """The number of tokens of each triple."""
        return np.array([len(self.joined(place).ids) for place in range(len(self.triples))], dtype=np.int64)
