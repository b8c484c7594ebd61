"""What a loss for ranking is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor


@dataclass(frozen=True)
class Loss(ABC):
    """From logits to one number to make small. `lists`: whether the documents of a query are looked at together."""

    name: ClassVar[str]
    lists: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean loss of a batch: `sizes` says how many of the logits, in turn, belong to each query."""


class Given:
    """Logits that are there already, in the place of the cross-encoder that the losses of sentence-transformers call.

    They tokenise texts and run a model on their own; ours was run before, on tokens that are cut as they are when
    searching. They are given places instead of texts, and find the logits under them.
    """

    num_labels = 1

    def __init__(self, logits: Tensor, sizes: list[int]) -> None:
        self.logits, self.device = logits, logits.device
        ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        self.places = [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]

    @property
    def queries(self) -> list[Any]:
        """Something in the place of each query's text."""
        return list(range(len(self.places)))

    def preprocess(self, pairs: list[Any], **_: Any) -> dict[str, Tensor]:
        """The places, as if they were tokens."""
        import torch

        return {"places": torch.tensor([place for _, place in pairs])}

    def __call__(self, tokens: dict[str, Tensor]) -> dict[str, Tensor]:
        """The logits, as if they had been computed just now."""
        return {"scores": self.logits[tokens["places"]]}


def by_query(values: Tensor, sizes: list[int]) -> list[Tensor]:
    """The labels or logits of each query."""
    from torch import split

    return list(split(values, sizes))
