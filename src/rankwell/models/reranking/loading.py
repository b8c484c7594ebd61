"""Load a model of any kind by name or folder; the folder records its kind."""

from __future__ import annotations

from rankwell.core import ParameterError
from rankwell.models.base import find_model, load_pair_scorer
from rankwell.models.linear.scorer import is_linear, load_linear
from rankwell.models.reranking.record import read_record
from rankwell.models.reranking.scores import Scorer


def load_scorer(
    model: str,
    *,
    max_tokens: int | None = None,
    query_tokens: int | None = None,
    precision: str | None = None,
    threads: int | None = None,
) -> Scorer:
    """Load a transformer, or a linear model, which has no tokens and only one precision."""
    if not is_linear(model):
        record = read_record(find_model(model))
        if record is not None:
            expected = f"a cross-encoder: rankwell.models.families.reranker makes the stage of a {record.kind} model"
            raise ParameterError("model", expected=expected, found=f"{model}, a {record.kind} model")
        return load_pair_scorer(
            model, max_tokens=max_tokens, query_tokens=query_tokens, precision=precision, threads=threads
        )
    of_transformers = {"max_tokens": max_tokens, "query_tokens": query_tokens, "precision": precision}
    for name, value in of_transformers.items():
        if value is not None:
            raise ParameterError(name, expected=f"nothing, because {model} is a linear model", found=value)
    return load_linear(model)
