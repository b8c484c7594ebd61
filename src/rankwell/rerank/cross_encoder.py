"""The cross-encoder: BERT reads query and document together, and re-orders the top of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from rankwell.core import Document, Run, Template
from rankwell.core.arrays import Floats, Integers
from rankwell.core.scales import Values
from rankwell.index import Index
from rankwell.rerank.aggregators import aggregator
from rankwell.rerank.candidates import BLOCK
from rankwell.rerank.linear_model import LinearModel
from rankwell.rerank.loading import load_scorer
from rankwell.rerank.passages import Passages
from rankwell.rerank.placing import Rescored
from rankwell.rerank.reranker import DEPTH, KINDS, MISSING, Reranker
from rankwell.rerank.score_cache import ScoreCache
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.scoring import PairScores, reported, wanted_at_once
from rankwell.rerank.tally import Tally
from rankwell.rerank.texts import DocumentTexts


@dataclass(frozen=True)
class CrossEncoder(Reranker):
    """Scores the k best documents of each query anew: `[CLS] query [SEP] document [SEP]` through a transformer.

    Documents below k stay below, in their old order, and so do documents without text; a query without text leaves its
    documents as they were. `model`: a folder, a name of `rankwell models`, or a `Scorer`. A folder with a next-sentence
    head will do too. Documents come from `index`, or travel with the run.

    `document`: a template such as `{title} {abstract}`; all fields without one. With `passages` every passage is
    scored, and `aggregate` (first, max, mean, sum) makes the document's score of the passages' probabilities, or of
    their logits (`aggregate_as="logit"`). The run holds that, else the model's logit, or with `scores="probability"`
    its probability. `missing="below"` treats documents that are nowhere to be found as if they had no text.

    Nogueira and Cho, "Passage re-ranking with BERT", 2019. `cache`: keep scores in Rankwell's folder (or in the folder
    named), so that no pair is scored twice. `tally` counts what was done.
    """

    of_scorer: ClassVar[tuple[str, ...]] = ("max_tokens", "query_tokens", "precision")
    choices: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType(
        {"aggregate_as": KINDS, "scores": KINDS, "missing": MISSING}
    )

    model: str | Scorer
    k: int = DEPTH
    document: str | None = None
    query_field: str | None = None
    passages: Passages | None = None
    aggregate: str = "mean"
    aggregate_as: str = "probability"
    scores: str = "logit"
    max_tokens: int | None = None
    query_tokens: int | None = None
    precision: str | None = None
    missing: str = "error"
    index: Index | None = field(default=None, repr=False)
    cache: bool | Path | str = field(default=True, repr=False, compare=False)
    threads: int | None = field(default=None, repr=False, compare=False)
    quiet: bool = field(default=False, repr=False, compare=False)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        aggregator(self.aggregate)

    def scorer(self) -> Scorer:
        """The model, loaded; once a process."""
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
        """The new scores alone."""
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
        """None of a linear model, which is quicker than looking up."""
        return nullcontext() if isinstance(self.scorer(), LinearModel) else super().kept_scores()

    def texts_of(self, document: Document) -> list[str]:
        """The texts to score of a document: as many as its score depends on, none where it has no text."""
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
