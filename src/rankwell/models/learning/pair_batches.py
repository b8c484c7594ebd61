"""Pairs as token ids in batches, for training models that give a pair one logit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from rankwell.core import SILENT, Floats, Integers, Progress
from rankwell.models.base.tokens import PairTokens, Tokens
from rankwell.models.base.torch_model import padded_tensors
from rankwell.models.learning.pairs import Pairs

Item = TypeVar("Item")
WINDOW = 4096  # pairs tokenised together


@dataclass(frozen=True, eq=False)
class PairLabels:
    """The label of each pair, the number of its query, and the ids of its query and its document."""

    labels: Floats
    groups: Integers
    query_ids: Sequence[str]
    document_ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels)


def label_columns(pairs: Pairs) -> tuple[Floats, Integers, Sequence[str], Sequence[str]]:
    """The labels, groups, query ids and document ids of pairs."""
    labels, groups, *ids = (pairs.column(name) for name in ("label", "group", "query_id", "document_id"))
    return np.array(labels, dtype=np.float32), np.array(groups, dtype=np.int64), ids[0], ids[1]


@dataclass(frozen=True, eq=False)
class TokenisedPairs(PairLabels):
    """The tokens of all pairs, five bytes each, truncated exactly as in search (`rankwell.models.base.PairScorer`)."""

    ids: np.ndarray[Any, np.dtype[np.int32]]
    types: np.ndarray[Any, np.dtype[np.int8]]
    offsets: Integers  # pair i has the tokens offsets[i] to offsets[i + 1]

    @classmethod
    def of(cls, pairs: Pairs, tokens: PairTokens, progress: Progress = SILENT) -> TokenisedPairs:
        """Tokenise all pairs; their texts are not stored."""
        return cls(*label_columns(pairs), *tokens_in_a_row(pairs.texts(), tokens, progress))

    @property
    def lengths(self) -> Integers:
        """The number of tokens of each pair."""
        return np.diff(self.offsets)

    def between(self, starts: Integers, ends: Integers) -> list[Tokens]:
        """The tokens from each of these offsets to the other."""
        bounds = zip(starts.tolist(), ends.tolist(), strict=True)
        wide = ((self.ids[start:end].astype(np.int64), self.types[start:end].astype(np.int64)) for start, end in bounds)
        return [Tokens(*both) for both in wide]


def tokens_in_a_row(
    examples: Iterable[Item], tokens: Callable[[list[Item]], list[Tokens]], progress: Progress = SILENT
) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.int8]], Integers]:
    """The ids and the types of the tokens of all examples, one after the other, and where each example begins."""
    ids, types, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int8)], [0]
    rest = iter(examples)
    while window := list(islice(rest, WINDOW)):
        made = tokens(window)
        ids.append(np.concatenate([one.ids for one in made]).astype(np.int32))
        types.append(np.concatenate([one.types for one in made]).astype(np.int8))
        lengths += [len(one.ids) for one in made]
        progress.advance(len(made))
    return np.concatenate(ids), np.concatenate(types), np.cumsum(lengths, dtype=np.int64)


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
        tokens = self.pairs.between(self.pairs.offsets[rows], self.pairs.offsets[rows + 1])
        return padded_tensors(tokens, self.padding, segments=self.segments)


def padding_and_segments(config: Any) -> tuple[int, bool]:
    """The id of a model's padding token, and whether it has segment ids."""
    return int(getattr(config, "pad_token_id", 0) or 0), int(getattr(config, "type_vocab_size", 0) or 0) > 1


def single_pairs(count: int) -> list[Integers]:
    """Each pair as an example of its own."""
    return list(np.arange(count)[:, None])


def rows_by_query(groups: Integers) -> Iterator[Integers]:
    """The rows of each query."""
    order = np.argsort(groups, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def query_lists(groups: Integers, labels: Floats, size: int) -> list[Integers]:
    """The rows of each query in lists of at most `size` documents, without lists of equal labels.

    A query with more documents gives several lists; relevant and other documents are distributed in
    turn, so that each list has some of both where there are enough.
    """
    lists = []
    for rows in rows_by_query(groups):
        best_first = rows[np.argsort(-labels[rows], kind="stable")]
        parts = max(1, -(-len(rows) // size))
        lists += [best_first[part::parts] for part in range(parts)]
    return [rows for rows in lists if len(np.unique(labels[rows])) > 1]
