"""A model by its name or folder, whatever kind it is: the folder says."""

from __future__ import annotations

from rankwell.core import ParameterError
from rankwell.encode import load_pair_scorer
from rankwell.rerank.linear_model import is_linear, load_linear
from rankwell.rerank.scorer import Scorer


def load_scorer(
    model: str,
    *,
    max_tokens: int | None = None,
    query_tokens: int | None = None,
    precision: str | None = None,
    threads: int | None = None,
) -> Scorer:
    """A transformer, or a linear model, which knows no tokens and has one precision."""
    if not is_linear(model):
        return load_pair_scorer(
            model, max_tokens=max_tokens, query_tokens=query_tokens, precision=precision, threads=threads
        )
    of_transformers = {"max_tokens": max_tokens, "query_tokens": query_tokens, "precision": precision}
    for name, value in of_transformers.items():
        if value is not None:
            raise ParameterError(name, expected=f"nothing, because {model} is a linear model", found=value)
    return load_linear(model)
