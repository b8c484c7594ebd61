"""Soft loss: the probability that the teacher gives, instead of a yes or no."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from rankwell.train.distil_losses.compared import Compared, DistilLoss


@dataclass(frozen=True)
class Soft(DistilLoss):
    """Pointwise: the cross-entropy of two distributions at a temperature.

    T^2 mean of - sum_c p_c log q_c, with p = softmax(teacher's logits / T) and q = softmax(student's logits / T)

    A model with one logit x has the two classes 0 and x: p = sigmoid(x / T). A high T tells a score of -3 from one of
    -9, which at T = 1 are both "no"; the more T grows, the more this is the squared difference of scores. T^2 keeps the
    size of the gradients.

    Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015.
    """

    name = "soft"
    scores = True
    temperature: float = 1.0

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over all pairs."""
        wanted = (compared.scores / self.temperature).sigmoid()
        found = compared.logits / self.temperature
        return self.temperature**2 * binary_cross_entropy_with_logits(found, wanted)
