"""PARADE as a re-ranker stage: whole documents, read passage by passage and judged as one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rankwell.core import Document, ParameterError, Template
from rankwell.encode.folder import ModelFolder
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.parade_reading import BREAK, ParadeReading
from rankwell.rerank.parade_scorer import load_parade
from rankwell.rerank.ranker_record import RankerRecord
from rankwell.rerank.reranker import DEPTH, RerankWishes
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.texts import DocumentTexts


@dataclass(frozen=True)
class Parade(CrossEncoder):
    """Scores the k best documents of each query with a folder that `rankwell train parade` made.

    All parameters are those of `CrossEncoder`, but how documents are split, cut and put together again is the model's
    own: it was trained that way. `reading` is what its folder says of it.
    """

    reading: ParadeReading | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("passages", "max_tokens", "query_tokens"):
            if getattr(self, name) is not None:
                expected = "nothing, because a PARADE model splits and cuts documents as it was trained"
                raise ParameterError(name, expected=expected, found=getattr(self, name))

    def scorer(self) -> Scorer:
        """The model, loaded; once a process."""
        if not isinstance(self.model, str):
            return self.model
        return load_parade(self.model, precision=self.precision, threads=self.threads)

    def texts_of(self, document: Document) -> list[str]:
        """The passages that are read, as one text; none where the document has no text."""
        passages = self._texts(document)
        return [BREAK.join(self._reading.chosen(passages))] if passages else []

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
    """`"kind": "parade"`."""

    depth = DEPTH

    def stage(self, model: str, record: RankerRecord, wishes: RerankWishes) -> Parade:
        """The stage of a folder."""
        wishes.refuse("passages", "max_tokens", "query_tokens", because=f"{model} is a PARADE model with its own")
        return Parade(
            model,
            k=wishes.depth(self.depth),
            document=wishes.document,
            query_field=wishes.query_field,
            scores=wishes.scores or "logit",
            precision=wishes.precision,
            missing=wishes.missing,
            index=wishes.index,
            cache=wishes.cache,
            threads=wishes.threads,
            quiet=wishes.quiet,
            reading=ParadeReading.parse(record.settings, ModelFolder.find(model)),
        )
