"""Pairs as token ids in batches, for training models that give a pair one logit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import SILENT, Floats, Integers, Progress
from rankwell.models.base.tokens import PairTokens
from rankwell.models.learning.pairs import Pairs

WINDOW = 4096  # pairs tokenised together


@dataclass(frozen=True, eq=False)
class TokenisedPairs:
    """The tokens of all pairs, five bytes each, truncated exactly as in search (`rankwell.models.base.PairScorer`)."""

    ids: np.ndarray[Any, np.dtype[np.int32]]
    types: np.ndarray[Any, np.dtype[np.int8]]
    offsets: Integers  # pair i has the tokens offsets[i] to offsets[i + 1]
    labels: np.ndarray[Any, np.dtype[np.float32]]
    groups: Integers
    query_ids: Sequence[str]
    document_ids: Sequence[str]

    @classmethod
    def of(cls, pairs: Pairs, tokens: PairTokens, progress: Progress = SILENT) -> TokenisedPairs:
        """Tokenise all pairs; their texts are not stored."""
        ids, types, lengths = [], [], []
        for batch in pairs.batches(["query", "document"], WINDOW):
            texts = list(zip(batch["query"].to_pylist(), batch["document"].to_pylist(), strict=True))
            made = tokens(texts)
            ids.append(np.concatenate([one.ids for one in made]).astype(np.int32))
            types.append(np.concatenate([one.types for one in made]).astype(np.int8))
            lengths += [len(one.ids) for one in made]
            progress.advance(len(made))
        labels, groups = pairs.column("label"), pairs.column("group")
        query_ids, document_ids = pairs.column("query_id"), pairs.column("document_id")
        return cls(
            np.concatenate([*ids, np.zeros(0, np.int32)]),
            np.concatenate([*types, np.zeros(0, np.int8)]),
            np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
            np.array(labels, dtype=np.float32),
            np.array(groups, dtype=np.int64),
            query_ids,
            document_ids,
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Integers:
        """The number of tokens of each pair."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class PairBatches:
    """Makes the model's input for some pairs, padded to the longest."""

    pairs: TokenisedPairs
    padding: int  # the id of the padding token
    segments: bool  # whether the model has segment ids

    def __call__(self, examples: Sequence[Integers]) -> dict[str, Any]:
        """A batch of examples, each with the rows of one pair or of one list of pairs."""
        import torch

        rows = np.concatenate(examples)
        batch = self.inputs(rows)
        batch["labels"] = torch.from_numpy(self.pairs.labels[rows])
        batch["sizes"] = torch.tensor([len(example) for example in examples])
        return batch

    def inputs(self, rows: Integers) -> dict[str, Any]:
        """The model's input for these pairs."""
        return self.padded(self.pairs.offsets[rows], self.pairs.lengths[rows])

    def padded(self, starts: Integers, lengths: Integers) -> dict[str, Any]:
        """Padded tensors of the tokens that begin at `starts`, one row each."""
        import torch

        ids = np.full((len(starts), int(lengths.max())), self.padding, dtype=np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for place, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            ids[place, :length] = self.pairs.ids[start : start + length]
            types[place, :length] = self.pairs.types[start : start + length]
            mask[place, :length] = 1
        given = {"input_ids": ids, "attention_mask": mask, **({"token_type_ids": types} if self.segments else {})}
        return {name: torch.from_numpy(array) for name, array in given.items()}


def single_pairs(count: int) -> list[Integers]:
    """Each pair as an example of its own."""
    return list(np.arange(count)[:, None])


def query_lists(groups: Integers, labels: Floats, size: int) -> list[Integers]:
    """The rows of each query in lists of at most `size` documents, without lists of equal labels.

    A query with more documents gives several lists; relevant and other documents are distributed in
    turn, so that each list has some of both where there are enough.
    """
    lists = []
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        best_first = rows[np.argsort(-labels[rows], kind="stable")]
        parts = max(1, -(-len(rows) // size))
        lists += [best_first[part::parts] for part in range(parts)]
    return [rows for rows in lists if len(np.unique(labels[rows])) > 1]
