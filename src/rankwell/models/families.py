"""The families of re-rankers: which one a model's folder belongs to (`ranker.json`), and its stage."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from rankwell.core import FormatError
from rankwell.core.plugins import Plugins
from rankwell.models.base import find_model
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.duo.ranking import DuoRanker
from rankwell.models.parade.ranking import ParadeRanker
from rankwell.models.reranking.record import RECORD, RankerRecord, read_record
from rankwell.models.reranking.reranker import DEPTH, Reranker, RerankSettings
from rankwell.models.review_rankers.architectures import ARCHITECTURES
from rankwell.models.review_rankers.ranking import ArchitectureStage


class Ranker(Protocol):
    """One kind of model: how its stage is made."""

    depth: int
    """How many documents of a query it re-ranks, where nobody says."""

    def stage(self, model: str, record: RankerRecord, settings: RerankSettings) -> Reranker:
        """The stage that runs a model of this kind; refuses settings that the kind knows nothing of."""


# One object a kind, under the name that `ranker.json` has for it. Other packages register theirs as entry points.
RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {"duo": DuoRanker(), "parade": ParadeRanker(), **dict.fromkeys(ARCHITECTURES, ArchitectureStage())}
)
PLUGINS = Plugins("rankwell.models")


def reranker(model: str, settings: RerankSettings | None = None) -> Reranker:
    """The stage of a model's folder or name: a cross-encoder where its folder does not say otherwise."""
    settings = settings or RerankSettings()
    record = record_of(model)
    if record is None or (record.kind in RANKERS and record.kind not in ARCHITECTURES):
        settings.refuse("relevant", because=f"{model} reads no relevant abstract")
    return cross_encoder(model, settings) if record is None else _ranker(model, record).stage(model, record, settings)


def usual_depth(model: str) -> int:
    """How many documents of a query a model re-ranks, where nobody says."""
    record = record_of(model)
    return DEPTH if record is None else _ranker(model, record).depth


def _ranker(model: str, record: RankerRecord) -> Ranker:
    if record.kind in RANKERS:
        return RANKERS[record.kind]
    if record.kind not in PLUGINS:
        file, known = find_model(model) / RECORD, ", ".join((*RANKERS, *PLUGINS))
        raise FormatError(file, None, expected=f"a kind among {known}", found=record.kind)
    ranker: Ranker = PLUGINS[record.kind]
    return ranker


def record_of(model: str) -> RankerRecord | None:
    """What a model's folder says of itself; None for a plain cross-encoder or a linear model."""
    return read_record(find_model(model))


def cross_encoder(model: str, settings: RerankSettings) -> CrossEncoder:
    """The stage of a plain transformer with a head, or of a linear model."""
    return settings.stage(CrossEncoder, model)
