"""Documents as the token ids of their passages, made once before training, and batches of whole documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import Progress
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.encode.tokens import PairTokens
from rankwell.rerank.parade_reading import ParadeReading
from rankwell.train.pair_tokens import PairBatches, TokenisedPairs
from rankwell.train.pairs import Pair, Pairs

WINDOW = 512  # documents that are tokenised together


class Split(NamedTuple):
    """A document's first pair, with the texts of its passages."""

    pair: Pair
    passages: list[str]


@dataclass(frozen=True, eq=False)
class TokenisedDocuments(TokenisedPairs):
    """The passages' tokens are at `offsets`; labels, groups and ids are documents'."""

    starts: Integers  # document i has the passages starts[i] to starts[i + 1]

    @classmethod
    def of_documents(
        cls, pairs: Pairs, tokens: PairTokens, reading: ParadeReading, progress: Progress = SILENT
    ) -> TokenisedDocuments:
        """Tokenise all passages that are read; their texts are not kept."""
        ids, types, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int8)], []
        heads: list[Pair] = []
        counts: list[int] = []
        documents = documents_of(pairs, reading)
        while some := list(islice(documents, WINDOW)):
            made = tokens([(pair.query, passage) for pair, passages in some for passage in passages])
            ids.append(np.concatenate([one.ids for one in made]).astype(np.int32))
            types.append(np.concatenate([one.types for one in made]).astype(np.int8))
            lengths += [len(one.ids) for one in made]
            heads += [pair._replace(document="") for pair, _ in some]
            counts += [len(passages) for _, passages in some]
            progress.advance(len(some))
        return cls(
            np.concatenate(ids),
            np.concatenate(types),
            _sums(lengths),
            np.array([pair.label for pair in heads], dtype=np.float32),
            np.array([pair.group for pair in heads], dtype=np.int64),
            [pair.query_id for pair in heads],
            [pair.document_id for pair in heads],
            _sums(counts),
        )

    @property
    def lengths(self) -> Integers:
        """The tokens that each document takes in a batch, its passages as long as the longest of them."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        longest = np.maximum.reduceat(np.diff(self.offsets), self.starts[:-1])
        return longest * np.diff(self.starts)


@dataclass(frozen=True)
class DocumentBatches(PairBatches):
    """Makes the input of a PARADE model: the passages of some documents one after the other, and their numbers."""

    pairs: TokenisedDocuments

    def inputs(self, rows: Integers) -> dict[str, Any]:
        """What the model is given for these documents; no passage is made up to fill a document."""
        import torch

        starts, ends = self.pairs.starts[rows], self.pairs.starts[rows + 1]
        passages = np.concatenate([np.arange(*both) for both in zip(starts.tolist(), ends.tolist(), strict=True)])
        offsets = self.pairs.offsets
        given = self.padded(offsets[passages], offsets[passages + 1] - offsets[passages])
        return {**given, "counts": torch.from_numpy(ends - starts)}


def documents_of(pairs: Pairs, reading: ParadeReading) -> Iterator[Split]:
    """Every document of the pairs with the passages that are read of it."""
    if in_passages(pairs):
        yield from _joined(pairs.rows(), reading)
        return
    for pair in pairs.rows():
        yield Split(pair, reading.split(pair.document))


def in_passages(pairs: Pairs) -> str | None:
    """How the pairs were split when they were made; None for pairs of whole documents."""
    made = pairs.record["made"].get("passages")
    return None if made is None else str(made)


def _joined(rows: Iterable[Pair], reading: ParadeReading) -> Iterator[Split]:
    """Pairs of passages as documents: those of a document stand together."""
    for _, found in groupby(rows, lambda pair: (pair.group, pair.document_id)):
        passages = list(found)
        yield Split(passages[0], reading.chosen([pair.document for pair in passages]))


def _sums(counts: list[int]) -> Integers:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
