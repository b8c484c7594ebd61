"""Re-ranking: the top of a run scored anew by a model that reads query and document together."""

from __future__ import annotations

from rankwell.rerank.aggregators import AGGREGATORS, Aggregator, aggregator
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.depths import at_depths
from rankwell.rerank.explanation import PassageScore, Place, RerankExplanation, explain_rerank, places, trace
from rankwell.rerank.interpolation import Interpolate
from rankwell.rerank.linear import Linear
from rankwell.rerank.linear_model import LinearModel, Words, is_linear, load_linear, save_linear
from rankwell.rerank.loading import load_scorer
from rankwell.rerank.passages import Passages
from rankwell.rerank.score_cache import ScoreCache, clear_scores, kept_bytes
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.tally import Tally

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "CrossEncoder",
    "Interpolate",
    "Linear",
    "LinearModel",
    "PassageScore",
    "Passages",
    "Place",
    "RerankExplanation",
    "ScoreCache",
    "Scorer",
    "Tally",
    "Words",
    "aggregator",
    "at_depths",
    "clear_scores",
    "explain_rerank",
    "is_linear",
    "kept_bytes",
    "load_linear",
    "load_scorer",
    "places",
    "save_linear",
    "trace",
]
