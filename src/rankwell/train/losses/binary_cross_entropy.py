"""Binary cross-entropy: whether a document is relevant to a query, yes or no."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from rankwell.train.losses.loss import Loss


@dataclass(frozen=True)
class BinaryCrossEntropy(Loss):
    """Pointwise: each pair alone.

    - mean of y log s(x) + (1 - y) log(1 - s(x)), with s the sigmoid and labels y from 0 to 1

    Nogueira and Cho, "Passage re-ranking with BERT", 2019.
    """

    name = "bce"
    lists = False

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:  # noqa: ARG002 -- no lists here
        """The mean over all pairs."""
        return binary_cross_entropy_with_logits(logits, labels)
