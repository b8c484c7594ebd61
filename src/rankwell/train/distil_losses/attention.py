"""Attention loss: which tokens each layer looks at."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rankwell.train.distil_losses.compared import Compared, DistilLoss


@dataclass(frozen=True)
class Attention(DistilLoss):
    """The mean squared difference of attention scores before the softmax, over layers, heads and pairs of tokens.

    mean over layers m and heads h of MSE(A_m,h, A^T_g(m),h), with A = Q K^T / sqrt(d); padding is left out

    TinyBERT (Jiao et al., 2020) fits the scores before the softmax too, which gets there sooner. Models with different
    numbers of heads are compared by the mean over their heads.
    """

    name = "attention"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over the student's layers."""
        student, teacher = compared.states()
        real = compared.mask.bool()
        both = (real[:, :, None] & real[:, None, :])[:, None].to(compared.logits.dtype)
        losses = []
        for ours, theirs in zip(student.attention, teacher.attention, strict=True):
            one, other = ours, theirs
            if one.shape[1] != other.shape[1]:
                one, other = (scores.mean(dim=1, keepdim=True) for scores in (one, other))
            losses.append(((one - other).square() * both).sum() / (both.sum() * one.shape[1]))
        return torch.stack(losses).mean()
