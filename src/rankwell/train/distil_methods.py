"""The methods of distillation: which losses, with which weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from rankwell.core import ParameterError

LOSSES = ("embedding", "attention", "hidden", "cosine", "soft", "margin", "hard")

METHODS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        # Simplified TinyBERT: everything together in one stage (Chen et al., ECIR 2021).
        "tinybert": {"embedding": 1.0, "attention": 1.0, "hidden": 1.0, "soft": 1.0, "hard": 1.0},
        # Hinton et al., 2015.
        "soft": {"soft": 1.0},
        # Hofstätter et al., 2020.
        "margin-mse": {"margin": 1.0},
        # Sanh et al., 2019, with the weights that they trained with (the labels in the place of masked words).
        "distilbert": {"soft": 5.0, "hard": 2.0, "cosine": 1.0},
    }
)


def weights_of(method: str, changes: Mapping[str, float]) -> dict[str, float]:
    """The weights of all losses of a method, some of them changed."""
    if method not in METHODS:
        raise ParameterError("method", expected=f"one of {', '.join(METHODS)}", found=method)
    for name, weight in changes.items():
        if name not in LOSSES:
            raise ParameterError("weights", expected=f"losses among {', '.join(LOSSES)}", found=name)
        if not (math.isfinite(weight) and weight >= 0):
            raise ParameterError("weights", expected="numbers from 0", found=weight)
    weights = {name: weight for name, weight in {**METHODS[method], **changes}.items() if weight}
    if not weights:
        raise ParameterError("weights", expected="a loss with a weight above 0", found="none")
    return weights


def parse_weights(told: str) -> dict[str, float]:
    """From `soft=2,hard=0.5`; nothing is changed by an empty text."""
    weights = {}
    for part in filter(None, told.split(",")):
        name, _, number = part.partition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError as error:
            raise ParameterError("weights", expected="losses with numbers: soft=2,hard=0.5", found=told) from error
    return weights
