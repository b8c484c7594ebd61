"""Hard loss: the labels themselves, where there are any."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from rankwell.train.distil_losses.compared import Compared, DistilLoss


@dataclass(frozen=True)
class Hard(DistilLoss):
    """Pointwise: the binary cross-entropy of label and logit.

    - mean over the pairs with a label of y log s(x) + (1 - y) log(1 - s(x)), with s the sigmoid; 0 where none has one

    Chen et al., "Simplified TinyBERT: knowledge distillation for document retrieval", ECIR 2021, add it to TinyBERT's
    losses.
    """

    name = "hard"

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over the pairs that have a label."""
        logits, labels = compared.logits[compared.labelled], compared.labels[compared.labelled]
        if not len(labels):
            return compared.logits.sum() * 0
        return binary_cross_entropy_with_logits(logits, labels)
