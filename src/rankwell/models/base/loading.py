"""A model's folder may be damaged, or made to do harm: whatever goes wrong while it is loaded becomes one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from rankwell.core import RankwellError

P = ParamSpec("P")
T = TypeVar("T")

# The largest numbers that a configuration may have: a billion layers would be built before a weight is missed.
MOST = {
    "vocab_size": 10**8,
    "hidden_size": 10**6,
    "num_hidden_layers": 10**3,
    "num_attention_heads": 10**4,
    "intermediate_size": 10**7,
    "max_position_embeddings": 10**8,
    "type_vocab_size": 10**4,
    "num_labels": 10**5,
}


def loads_model(function: Callable[P, T]) -> Callable[P, T]:
    """For a function that loads a model: any error becomes a RankwellError of one line that names the model.

    The files of a folder go to several libraries (orjson, numpy, ONNX, tokenizers, torch), whose errors for a content
    that does not fit have no common base class.
    """

    @wraps(function)
    def load(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except RankwellError:
            raise
        except Exception as error:
            named = next((str(value) for value in (*args, *kwargs.values()) if isinstance(value, str)), "the model")
            raise RankwellError(f"{named}: expected a model that can be loaded, found {reason(error)}") from error

    return load


def reason(error: BaseException) -> str:
    """The first line of an error and its kind, where the line alone says too little."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def wrong_value(config: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a configuration's first value of a wrong kind or size should be, and what it is; None for a good one."""
    for name, most in MOST.items():
        value = config.get(name)
        if value is not None and (type(value) is not int or not 0 <= value <= most):
            return f'"{name}": a whole number up to {most:,}', f"{value!r}"
    classes = config.get("architectures")
    if classes is not None and not (isinstance(classes, list) and all(isinstance(name, str) for name in classes)):
        return '"architectures": a list of names', f"{classes!r}"
    kind = config.get("model_type")
    if kind is not None and not isinstance(kind, str):
        return '"model_type": a name', f"{kind!r}"
    return None
