"""Re-ranking: the top of a run scored anew by a model that reads query and document together."""

from __future__ import annotations

from rankwell.rerank.aggregators import AGGREGATORS, Aggregator, aggregator
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.depths import at_depths
from rankwell.rerank.explanation import PassageScore, Place, RerankExplanation, explain_rerank, places, trace
from rankwell.rerank.interpolation import Interpolate
from rankwell.rerank.passages import Passages
from rankwell.rerank.score_cache import ScoreCache, clear_scores, kept_bytes
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.tally import Tally

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "CrossEncoder",
    "Interpolate",
    "PassageScore",
    "Passages",
    "Place",
    "RerankExplanation",
    "ScoreCache",
    "Scorer",
    "Tally",
    "aggregator",
    "at_depths",
    "clear_scores",
    "explain_rerank",
    "kept_bytes",
    "places",
    "trace",
]
