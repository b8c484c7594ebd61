"""Losses for ranking, one a file: pointwise, pairwise and listwise. Loads torch: import it late."""

from __future__ import annotations

from rankwell.core import ParameterError
from rankwell.train.losses.binary_cross_entropy import BinaryCrossEntropy
from rankwell.train.losses.lambda_loss import Lambda
from rankwell.train.losses.list_net import ListNet
from rankwell.train.losses.loss import Loss
from rankwell.train.losses.margin import Margin
from rankwell.train.losses.margin_mse import MarginMSE
from rankwell.train.losses.rank_net import RankNet
from rankwell.train.losses.softmax import Softmax

__all__ = [
    "LOSSES",
    "BinaryCrossEntropy",
    "Lambda",
    "ListNet",
    "Loss",
    "Margin",
    "MarginMSE",
    "RankNet",
    "Softmax",
    "loss_named",
]

LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (BinaryCrossEntropy(), RankNet(), Margin(), MarginMSE(), ListNet(), Softmax(), Lambda())
}


def loss_named(name: str) -> Loss:
    """The loss with a name."""
    if name not in LOSSES:
        raise ParameterError("loss", expected=f"one of {', '.join(LOSSES)}", found=name)
    return LOSSES[name]
