"""Rows of tokens, masked anew each epoch: examples for a masked language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankwell.core.arrays import Integers
from rankwell.train.masking import Masker
from rankwell.train.packing import PackedTexts

FIXED = (1 << 32) - 1  # an epoch that no training reaches: the masks that a model is measured with


class MaskedRow(NamedTuple):
    """What the model sees, and what it has to guess."""

    inputs: Integers
    labels: Integers


class MaskedRows:
    """A row's masks depend on the seed, the epoch and the row alone: a resumed run meets the same ones."""

    def __init__(self, rows: PackedTexts, masker: Masker, seed: int, epoch: int = 0) -> None:
        self.rows, self.masker, self.seed, self.epoch = rows, masker, seed, epoch

    def set_epoch(self, epoch: int) -> None:
        """Mask anew."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> MaskedRow:
        generator = np.random.default_rng([self.seed, self.epoch, place])
        return MaskedRow(*self.masker(self.rows.ids[place], generator, self.rows.starts[place]))

    def collate(self, examples: Sequence[MaskedRow]) -> dict[str, Any]:
        """A batch; there is an attention mask only where there is padding, because without one attention is faster."""
        import torch

        inputs, labels = (torch.from_numpy(np.stack(part)) for part in zip(*examples, strict=True))
        batch = {"input_ids": inputs, "labels": labels}
        present = inputs != self.rows.padding
        return batch if bool(present.all()) else {**batch, "attention_mask": present.long()}
