"""Ways to make one score of a document's passages, by name."""

from __future__ import annotations

from rankwell.core import ParameterError
from rankwell.rerank.aggregators.aggregator import Aggregator
from rankwell.rerank.aggregators.first import First
from rankwell.rerank.aggregators.highest import Highest
from rankwell.rerank.aggregators.mean import Mean
from rankwell.rerank.aggregators.total import Total

__all__ = ["AGGREGATORS", "Aggregator", "First", "Highest", "Mean", "Total", "aggregator"]

AGGREGATORS: dict[str, Aggregator] = {kind.name: kind for kind in (First(), Highest(), Mean(), Total())}


def aggregator(name: str) -> Aggregator:
    """The aggregator of that name."""
    if name not in AGGREGATORS:
        raise ParameterError("aggregate", expected=" or ".join(AGGREGATORS), found=name)
    return AGGREGATORS[name]
