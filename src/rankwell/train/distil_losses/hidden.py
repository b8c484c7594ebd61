"""Hidden-state loss: what each layer gives, compared with what a layer of the teacher gives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rankwell.train.distil_losses.compared import Compared, DistilLoss, token_mean


@dataclass(frozen=True)
class Hidden(DistilLoss):
    """The mean squared difference of states, over layers, tokens (no padding) and dimensions.

    mean over layers m of MSE(H_m W, H^T_g(m)), where g(m) is the teacher's layer that goes with m; W, one for all
    layers, is learnt where the widths differ, and the identity where they do not

    Jiao et al., "TinyBERT: distilling BERT for natural language understanding", 2020, who sum over layers; with the
    mean, a weight means the same for students of any depth.
    """

    name = "hidden"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over the student's layers."""
        student, teacher = compared.states()
        losses = []
        for place, number in enumerate(compared.layers, 1):
            difference = compared.widen(student.hidden[place]) - teacher.hidden[number]
            losses.append(token_mean(difference.square(), compared.mask))
        return torch.stack(losses).mean()
