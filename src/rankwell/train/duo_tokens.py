"""The texts of pairs as token ids, made once before training, and batches of two documents with their query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import Progress
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.encode.tokens import Tokens
from rankwell.rerank.duo_tokens import Heads, TripleTokens
from rankwell.rerank.parade_reading import padded
from rankwell.train.pairs import Pairs
from rankwell.train.triples import Triples

WINDOW = 4096  # pairs that are tokenised together


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """The query and the document of every pair, each cut to the most that a triple may have of it."""

    queries: list[Heads]
    documents: list[Heads]
    labels: np.ndarray[Any, np.dtype[np.float32]]
    groups: Integers
    query_ids: Sequence[str]
    document_ids: Sequence[str]

    @classmethod
    def of(cls, pairs: Pairs, tokens: TripleTokens, progress: Progress = SILENT) -> TokenisedTexts:
        """Tokenise all texts, which are not kept; a query that has many documents once."""
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
    """Makes the input of a duo model of some triples, padded to the longest of them."""

    texts: TokenisedTexts
    triples: Triples
    tokens: TripleTokens
    padding: int
    segments: bool  # whether the model tells texts apart by segments

    def __call__(self, examples: Sequence[int]) -> dict[str, Any]:
        """A batch of triples by their places."""
        import torch

        places = np.array(examples, dtype=np.int64)
        return {**self.inputs(places), "labels": torch.from_numpy(self.triples.labels[places])}

    def inputs(self, places: Integers) -> dict[str, Any]:
        """What the model is given for these triples."""
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
        """The number of each triple's tokens."""
        return np.array([len(self.joined(place).ids) for place in range(len(self.triples))], dtype=np.int64)
