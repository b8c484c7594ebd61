"""The cross-encoder: BERT reads query and document together, and re-ranks the top of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from rankwell.core import Document, ParameterError, Run, Template
from rankwell.core.arrays import Floats, Integers
from rankwell.core.parameters import like
from rankwell.core.run import Values
from rankwell.index import SearchIndex
from rankwell.models.base.tokens import Texts
from rankwell.models.linear.scorer import LinearModel
from rankwell.models.reranking.aggregators import aggregator
from rankwell.models.reranking.loading import load_scorer
from rankwell.models.reranking.passages import DocumentTexts, Passages
from rankwell.models.reranking.placing import Rescored, Tally, placed
from rankwell.models.reranking.reranker import (
    BLOCK,
    DEPTH,
    KINDS,
    LOGIT,
    MISSING,
    PROBABILITY,
    Reranker,
    RerankSettings,
)
from rankwell.models.reranking.scores import PairScores, ScoreCache, Scorer, reported, wanted_at_once


@dataclass(frozen=True)
class CrossEncoder(Reranker):
    """Re-ranks the k best documents of each query: `[CLS] query [SEP] document [SEP]` through a transformer.

    Documents below k stay below, in their old order, and so do documents without text; a query without text is not
    re-ranked. `model`: a folder, a name of `rankwell models`, or a `Scorer`. A folder with a next-sentence
    head also works. Documents come from `index`, or from the run itself.

    `document`: a template such as `{title} {abstract}`; all fields without one. With `passages` every passage is
    scored, and `aggregate` (first, max, mean, sum) combines the passages' probabilities, or their logits
    (`aggregate_as="logit"`), into the document's score. Without passages the score is the model's logit, or with
    `scores="probability"` its probability. `missing="below"` treats missing documents as if they had no text.

    Nogueira and Cho, "Passage re-ranking with BERT", 2019. `cache`: store scores in Rankwell's folder (or in the
    given folder), so that no pair is scored twice. `tally` counts the work done.
    """

    of_scorer: ClassVar[tuple[str, ...]] = ("max_tokens", "query_tokens", "precision")
    choices: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType(
        {"aggregate_as": KINDS, "scores": KINDS, "missing": MISSING}
    )

    model: str | Scorer
    k: int = like(RerankSettings, "k", default=DEPTH)
    document: str | None = like(RerankSettings, "document")
    query_field: str | None = like(RerankSettings, "query_field")
    passages: Passages | None = like(RerankSettings, "passages")
    aggregate: str = like(RerankSettings, "aggregate", default="mean")
    aggregate_as: str = like(RerankSettings, "aggregate_as", default=PROBABILITY)
    scores: str = like(RerankSettings, "scores", default=LOGIT)
    max_tokens: int | None = like(RerankSettings, "max_tokens")
    query_tokens: int | None = like(RerankSettings, "query_tokens")
    precision: str | None = like(RerankSettings, "precision")
    missing: str = like(RerankSettings, "missing")
    index: SearchIndex | None = field(default=None, repr=False)
    cache: bool | Path | str = field(default=True, repr=False, compare=False)
    threads: int | None = field(default=None, repr=False, compare=False)
    quiet: bool = field(default=False, repr=False, compare=False)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        aggregator(self.aggregate)

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        if not isinstance(self.model, str):
            return self.model
        return load_scorer(
            self.model,
            max_tokens=self.max_tokens,
            query_tokens=self.query_tokens,
            precision=self.precision,
            threads=self.threads,
        )

    def rescore(self, run: Run) -> Rescored:
        """Compute the new scores without placing the documents."""
        scorer = self.scorer()
        candidates = self.candidates(run, self.texts_of)
        found = Rescored.nothing(run)
        progress = self.progress(candidates, candidates.count if self.passages is None else None)
        with reported(scorer, self.tally), progress, self.kept_scores() as cache:
            score = PairScores(scorer, cache, self.tally, progress)
            for block in candidates.blocks(max(BLOCK, wanted_at_once(scorer, BLOCK))):
                rows = [candidate.row for candidate in block]
                scores = score([(candidate.query, text) for candidate in block for text in candidate.texts])
                starts = np.cumsum([0, *(len(candidate.texts) for candidate in block[:-1])])
                found.scores[rows] = self.combined(scores, starts)
                found.chosen[rows] = True
                self.tally.documents += len(rows)
        self.count_empty(candidates)
        return found

    def kept_scores(self) -> AbstractContextManager[ScoreCache | None]:
        """No cache for a linear model, which is faster than a lookup."""
        return nullcontext() if isinstance(self.scorer(), LinearModel) else super().kept_scores()

    def texts_of(self, document: Document) -> Sequence[Texts]:
        """The texts of a document to score: only those that affect its score, none where it has no text."""
        return self._texts(document)[: aggregator(self.aggregate).enough]

    def combined(self, scores: Floats, starts: Integers) -> Values:
        """The documents' scores from their passages' logits, which begin at `starts`."""
        scorer = self.scorer()
        as_probability = self.aggregate_as == "probability"
        if self.passages is None:
            return (scorer.probabilities(scores) if self.scores == "probability" else scores).astype(np.float64)
        parts = (scorer.probabilities(scores) if as_probability else scores).astype(np.float64)
        found = aggregator(self.aggregate)(parts, starts)
        if self.scores == "probability" and not as_probability:
            return scorer.probabilities(found.astype(np.float32)).astype(np.float64)
        return found

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self.passages)


def at_depths(stage: CrossEncoder, run: Run, depths: Sequence[int]) -> dict[int, Run]:
    """The re-ranked run for each depth k; only the deepest is scored.

    A document's score does not depend on how many others are scored, so each run equals that of
    `replace(stage, k=depth)`.
    """
    if not depths or min(depths) < 1:
        raise ParameterError("depths", expected="numbers of documents, at least 1", found=list(depths))
    found = replace(stage, k=max(depths)).rescore(run)
    return {
        depth: replace(placed(run, Rescored(found.chosen & (run.ranks <= depth), found.scores)), tag=stage.name)
        for depth in depths
    }
