"""Re-ranking: the top of a run scored anew by a model that reads query and document together."""

from __future__ import annotations

from rankwell.rerank.aggregators import AGGREGATORS, Aggregator, aggregator
from rankwell.rerank.architectures import ARCHITECTURES, ArchitectureRanker
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.depths import at_depths
from rankwell.rerank.duo import Duo
from rankwell.rerank.duo_aggregates import DUO_AGGREGATES, DuoAggregate, duo_aggregate
from rankwell.rerank.explanation import PassageScore, Place, RerankExplanation, explain_rerank, places, trace
from rankwell.rerank.interpolation import Interpolate
from rankwell.rerank.linear import Linear
from rankwell.rerank.linear_model import LinearModel, Words, is_linear, load_linear, save_linear
from rankwell.rerank.loading import load_scorer
from rankwell.rerank.parade import Parade
from rankwell.rerank.passages import Passages
from rankwell.rerank.ranker_record import RankerRecord, read_record
from rankwell.rerank.rankers import RANKERS, Ranker, record_of, reranker, usual_depth
from rankwell.rerank.reranker import Reranker, RerankWishes
from rankwell.rerank.score_cache import ScoreCache, clear_scores, kept_bytes
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.tally import Tally

__all__ = [
    "AGGREGATORS",
    "ARCHITECTURES",
    "DUO_AGGREGATES",
    "RANKERS",
    "Aggregator",
    "ArchitectureRanker",
    "CrossEncoder",
    "Duo",
    "DuoAggregate",
    "Interpolate",
    "Linear",
    "LinearModel",
    "Parade",
    "PassageScore",
    "Passages",
    "Place",
    "Ranker",
    "RankerRecord",
    "RerankExplanation",
    "RerankWishes",
    "Reranker",
    "ScoreCache",
    "Scorer",
    "Tally",
    "Words",
    "aggregator",
    "at_depths",
    "clear_scores",
    "duo_aggregate",
    "explain_rerank",
    "is_linear",
    "kept_bytes",
    "load_linear",
    "load_scorer",
    "places",
    "read_record",
    "record_of",
    "reranker",
    "save_linear",
    "trace",
    "usual_depth",
]
