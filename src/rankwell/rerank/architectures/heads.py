"""The two heads of S3 4.10: from the [CLS] vectors of an example, side by side, to one logit. Loads torch."""

from __future__ import annotations

from torch import nn

from rankwell.core import ParameterError

QUARTER_LESS = 0.75


def head(width: int, *, frozen: bool, dropout: float, ratio: float = QUARTER_LESS) -> nn.Sequential:
    """The head for vectors of `width` numbers in all.

    Where BERT is trained, dropout and one linear layer: [batch, width] -> [batch, 1]. Where all of BERT is frozen,
    three linear layers with ReLU and dropout between them, each of `ratio` as many units as the one before:
    [batch, width] -> [batch, ratio width] -> [batch, ratio^2 width] -> [batch, 1]. S3 says that sizes are "reduced by
    one-quarter"; who reads that as "to a quarter" sets the ratio to 0.25.

    S3 ends in a softmax over this one number, which is 1 whatever the number is; here its sigmoid is the probability.
    """
    if not 0 < ratio <= 1:
        raise ParameterError("head_ratio", expected="a share above 0, up to 1", found=ratio)
    if not frozen:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, 1))
    second = max(1, round(width * ratio))
    third = max(1, round(second * ratio))
    return nn.Sequential(
        nn.Linear(width, second),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(second, third),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(third, 1),
    )
