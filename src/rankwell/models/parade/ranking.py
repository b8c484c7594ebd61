"""PARADE as a re-ranker: scores documents by their passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rankwell.core import Document, ParameterError, Template
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import Texts
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.parade.scorer import ParadeReading, load_parade
from rankwell.models.reranking.passages import DocumentTexts
from rankwell.models.reranking.record import RankerRecord
from rankwell.models.reranking.reranker import DEPTH, RerankSettings
from rankwell.models.reranking.scores import Scorer


@dataclass(frozen=True)
class Parade(CrossEncoder):
    """Re-ranks the k best documents of each query with a folder from `rankwell train parade`.

    All parameters are those of `CrossEncoder`, but how documents are split, truncated and aggregated is fixed
    by the model's training. `reading` has these settings from its folder.
    """

    reading: ParadeReading | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("passages", "max_tokens", "query_tokens"):
            if getattr(self, name) is not None:
                expected = "nothing, because a PARADE model splits and cuts documents as it was trained"
                raise ParameterError(name, expected=expected, found=getattr(self, name))

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        if not isinstance(self.model, str):
            return self.model
        return load_parade(self.model, precision=self.precision, threads=self.threads)

    def texts_of(self, document: Document) -> Sequence[Texts]:
        """The passages to read, as one text; none where the document has no text."""
        passages = self._texts(document)
        return [tuple(self._reading.chosen(passages))] if passages else []

    @cached_property
    def _reading(self) -> ParadeReading:
        if self.reading is not None:
            return self.reading
        if not isinstance(self.model, str):
            expected = "how the model reads, because the model is a scorer"
            raise ParameterError("reading", expected=expected, found=self.reading)
        return ParadeReading.of_folder(ModelFolder.find(self.model))

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self._reading.passages)


class ParadeRanker:
    """The kind of model folders with `"kind": "parade"`."""

    depth = DEPTH

    def stage(self, model: str, record: RankerRecord, settings: RerankSettings) -> Parade:
        """The re-ranking stage of a folder."""
        settings.refuse("passages", "max_tokens", "query_tokens", because=f"{model} is a PARADE model with its own")
        reading = ParadeReading.parse(record.settings, ModelFolder.find(model))
        return settings.stage(Parade, model, reading=reading)
