"""The families of re-rankers: which one a model's folder belongs to (`ranker.json`), and its stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rankwell.core import FormatError
from rankwell.core.plugins import Plugins
from rankwell.models.base.folder import RANKER_RECORD, ModelFolder, RankerRecord
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.duo.ranking import duo_stage
from rankwell.models.parade.ranking import parade_stage
from rankwell.models.reranking.reranker import DEPTH, DUO_DEPTH, Reranker, RerankSettings
from rankwell.models.review_rankers.architectures import ARCHITECTURES
from rankwell.models.review_rankers.ranking import architecture_stage


class Ranker(NamedTuple):
    """One kind of model: how many documents of a query it re-ranks, where nobody says, and how its stage is made.

    `stage(model, record, settings)` refuses settings that the kind knows nothing of.
    """

    depth: int
    stage: Callable[[str, RankerRecord, RerankSettings], Reranker]


# By the name of the kind in `ranker.json`. Other packages register theirs, or objects like it, as entry points.
RANKERS: Mapping[str, Ranker] = {
    "duo": Ranker(DUO_DEPTH, duo_stage),
    "parade": Ranker(DEPTH, parade_stage),
    **dict.fromkeys(ARCHITECTURES, Ranker(DEPTH, architecture_stage)),
}
PLUGINS = Plugins("rankwell.models")


def reranker(model: str, settings: RerankSettings | None = None) -> Reranker:
    """The stage of a model's folder or name: a cross-encoder where its folder does not say otherwise.

    >>> BM25(index) >> reranker("ms-marco-minilm-l12")
    """
    settings = settings or RerankSettings()
    record = record_of(model)
    if record is None or (record.kind in RANKERS and record.kind not in ARCHITECTURES):
        settings.refuse("relevant", because=f"{model} reads no relevant abstract")
    if record is None:
        return settings.stage(CrossEncoder, model)
    return _ranker(model, record).stage(model, record, settings)


def usual_depth(model: str) -> int:
    """How many documents of a query a model re-ranks, where nobody says."""
    record = record_of(model)
    return DEPTH if record is None else _ranker(model, record).depth


def _ranker(model: str, record: RankerRecord) -> Ranker:
    if record.kind in RANKERS:
        return RANKERS[record.kind]
    if record.kind not in PLUGINS:
        file, known = ModelFolder.find(model).path / RANKER_RECORD, ", ".join((*RANKERS, *PLUGINS))
        raise FormatError(file, None, expected=f"a kind among {known}", found=record.kind)
    ranker: Ranker = PLUGINS[record.kind]
    return ranker


def record_of(model: str) -> RankerRecord | None:
    """What a model's folder says of itself; None for a plain cross-encoder or a linear model."""
    return ModelFolder.find(model).record
