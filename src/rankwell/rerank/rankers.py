"""A re-ranker by its model's folder, whatever kind of model it is: `ranker.json` in the folder says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from rankwell.core import FormatError
from rankwell.encode import find_model
from rankwell.rerank.architectures import ARCHITECTURES
from rankwell.rerank.architectures.ranker import ArchitectureStage
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.duo import DuoRanker
from rankwell.rerank.parade import ParadeRanker
from rankwell.rerank.ranker_record import RECORD, RankerRecord, read_record
from rankwell.rerank.reranker import DEPTH, Reranker, RerankWishes


class Ranker(Protocol):
    """One kind of model: how its stage is made."""

    depth: int
    """How many documents of a query it re-ranks, where nobody says."""

    def stage(self, model: str, record: RankerRecord, wishes: RerankWishes) -> Reranker:
        """The stage that runs a model of this kind; refuses wishes that the kind knows nothing of."""


# One object a kind, under the name that `ranker.json` has for it.
RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {"duo": DuoRanker(), "parade": ParadeRanker(), **dict.fromkeys(ARCHITECTURES, ArchitectureStage())}
)


def reranker(model: str, wishes: RerankWishes | None = None) -> Reranker:
    """The stage of a model's folder or name: a cross-encoder where its folder does not say otherwise."""
    wishes = wishes or RerankWishes()
    record = record_of(model)
    if record is None or record.kind not in ARCHITECTURES:
        wishes.refuse("relevant", because=f"{model} reads no relevant abstract")
    return cross_encoder(model, wishes) if record is None else _ranker(model, record).stage(model, record, wishes)


def usual_depth(model: str) -> int:
    """How many documents of a query a model re-ranks, where nobody says."""
    record = record_of(model)
    return DEPTH if record is None else _ranker(model, record).depth


def _ranker(model: str, record: RankerRecord) -> Ranker:
    if record.kind not in RANKERS:
        file = find_model(model) / RECORD
        raise FormatError(file, None, expected=f"a kind among {', '.join(RANKERS)}", found=record.kind)
    return RANKERS[record.kind]


def record_of(model: str) -> RankerRecord | None:
    """What a model's folder says of itself; None for a plain cross-encoder or a linear model."""
    return read_record(find_model(model))


def cross_encoder(model: str, wishes: RerankWishes) -> CrossEncoder:
    """The stage of a plain transformer with a head, or of a linear model."""
    return CrossEncoder(
        model,
        k=wishes.depth(DEPTH),
        document=wishes.document,
        query_field=wishes.query_field,
        passages=wishes.passages,
        aggregate=wishes.aggregate or "mean",
        aggregate_as=wishes.aggregate_as or "probability",
        scores=wishes.scores or "logit",
        max_tokens=wishes.max_tokens,
        query_tokens=wishes.query_tokens,
        precision=wishes.precision,
        missing=wishes.missing,
        index=wishes.index,
        cache=wishes.cache,
        threads=wishes.threads,
        quiet=wishes.quiet,
    )
