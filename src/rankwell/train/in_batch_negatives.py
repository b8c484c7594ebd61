"""Batches for a bi-encoder: each query with a relevant document, all others of the batch against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwell.train.text_tokens import PairTexts


class InBatchNegatives:
    """Makes batches of relevant pairs (`positives`: their rows) and of hard negatives.

    A document that is known to be relevant to another query of the batch would be a false negative: such a pair is left
    out of the batch, and so is such a hard negative. `negatives` limits how many each pair brings along; which ones
    changes with the epoch.
    """

    def __init__(self, pairs: PairTexts, *, negatives: int, padding: int) -> None:
        self.pairs, self.negatives, self.padding = pairs, negatives, padding
        self._relevant: dict[int, set[str]] = {}
        self._others: dict[int, list[int]] = {}
        for row, (group, label) in enumerate(zip(pairs.groups.tolist(), pairs.labels.tolist(), strict=True)):
            if label > 0:
                self._relevant.setdefault(group, set()).add(pairs.document_ids[row])
            else:
                self._others.setdefault(group, []).append(row)

    @property
    def positives(self) -> list[int]:
        """The rows of the relevant pairs."""
        return np.flatnonzero(self.pairs.labels > 0).tolist()

    def __call__(self, examples: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """A batch of (row, epoch): queries; then one relevant document for each of them, and the hard negatives."""
        rows = self._without_clashes([row for row, _ in examples])
        epochs = dict(examples)
        hard = [other for row in rows for other in self._hard(row, epochs[row])]
        groups = [int(self.pairs.groups[row]) for row in rows]
        hard = [row for row in hard if not any(self._known(group, row) for group in groups)]
        table = self.pairs.table
        queries = table.inputs(self.pairs.queries[rows].tolist(), self.padding)
        documents = table.inputs(self.pairs.documents[[*rows, *dict.fromkeys(hard)]].tolist(), self.padding)
        return {
            **{f"query_{name}": tensor for name, tensor in queries.items()},
            **{f"document_{name}": tensor for name, tensor in documents.items()},
        }

    def _without_clashes(self, rows: list[int]) -> list[int]:
        kept: list[int] = []
        for row in rows:
            group = int(self.pairs.groups[row])
            if not any(self._known(group, other) or self._known(int(self.pairs.groups[other]), row) for other in kept):
                kept.append(row)
        return kept

    def _hard(self, row: int, epoch: int) -> list[int]:
        found = self._others.get(int(self.pairs.groups[row]), [])
        start = (epoch * self.negatives) % max(1, len(found))
        return [*found[start:], *found[:start]][: self.negatives]

    def _known(self, group: int, row: int) -> bool:
        return self.pairs.document_ids[row] in self._relevant.get(group, ())


class RelevantPairs:
    """The examples: rows of relevant pairs, each with the epoch it is met in."""

    def __init__(self, rows: list[int]) -> None:
        self.rows, self.epoch = rows, 0

    def set_epoch(self, epoch: int) -> None:
        """Which epoch it is, from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> tuple[int, int]:
        return self.rows[place], self.epoch
