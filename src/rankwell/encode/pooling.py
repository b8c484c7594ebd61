"""One vector of the many that a text's tokens have: the first token's, their mean, or the largest of each dimension."""

from __future__ import annotations

from collections.abc import Callable

from rankwell.core.arrays import Floats


def cls(hidden: Floats) -> Floats:
    """The vector of the first token, [CLS]."""
    first: Floats = hidden[0]
    return first


def mean(hidden: Floats) -> Floats:
    """The mean over all tokens, the special ones too, as sentence-transformers does."""
    return hidden.mean(axis=0, dtype="float32")  # type: ignore[no-any-return]


def maximum(hidden: Floats) -> Floats:
    """The largest value of each dimension."""
    return hidden.max(axis=0)  # type: ignore[no-any-return]


POOLINGS: dict[str, Callable[[Floats], Floats]] = {"cls": cls, "max": maximum, "mean": mean}
