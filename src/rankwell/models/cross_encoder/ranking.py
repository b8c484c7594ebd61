"""The cross-encoder: BERT reads query and document together, and re-ranks the top of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rankwell.core import Document, Floats, Integers, ParameterError, Run, Template, Values
from rankwell.core.parameters import like
from rankwell.models.base.encoders import load_pair_scorer
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import Texts
from rankwell.models.reranking import reranker
from rankwell.models.reranking.passages import DocumentTexts, Passages, aggregator
from rankwell.models.reranking.reranker import Candidate, Candidates, Reranker, RerankSettings, Rescored, placed
from rankwell.models.reranking.scores import PairScores, Scorer


def load_scorer(model: str, *, threads: int | None = None, **settings: Any) -> Scorer:
    """Load a transformer with the settings of a `PairScorer`, or a linear model, which has none of them."""
    from rankwell.models.linear.ranking import is_linear, load_linear  # whose stage is a `CrossEncoder` too

    if not is_linear(model):
        record = ModelFolder.find(model).record
        if record is not None:
            expected = f"a cross-encoder: rankwell.models.families.reranker makes the stage of a {record.kind} model"
            raise ParameterError("model", expected=expected, found=f"{model}, a {record.kind} model")
        return load_pair_scorer(model, threads=threads, **settings)
    for name, value in settings.items():
        if value is not None:
            raise ParameterError(name, expected=f"nothing, because {model} is a linear model", found=value)
    return load_linear(model)


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

    >>> BM25(index) >> CrossEncoder("ms-marco-minilm-l12", k=50, document="{title} {abstract}")
    """

    of_scorer: ClassVar[tuple[str, ...]] = ("max_tokens", "query_tokens", "precision")
    choices: ClassVar[Mapping[str, Sequence[str]]] = {
        "aggregate_as": reranker.KINDS,
        "scores": reranker.KINDS,
        **Reranker.choices,
    }

    passages: Passages | None = like(RerankSettings, "passages")
    aggregate: str = like(RerankSettings, "aggregate", default="mean")
    aggregate_as: str = like(RerankSettings, "aggregate_as", default=reranker.PROBABILITY)
    scores: str = like(RerankSettings, "scores", default=reranker.LOGIT)
    max_tokens: int | None = like(RerankSettings, "max_tokens")
    query_tokens: int | None = like(RerankSettings, "query_tokens")
    precision: str | None = like(RerankSettings, "precision")

    def __post_init__(self) -> None:
        super().__post_init__()
        aggregator(self.aggregate)

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        return self._loaded(load_scorer, **{name: getattr(self, name) for name in self.of_scorer})

    def _scoring(self, run: Run, candidates: Candidates) -> reranker.BlockScores:  # noqa: ARG002 -- of other kinds
        def scores_of(block: list[Candidate], score: PairScores) -> Values:
            scores = score([(candidate.query, text) for candidate in block for text in candidate.texts])
            starts = np.cumsum([0, *(len(candidate.texts) for candidate in block[:-1])])
            return self.combined(scores, starts)

        return scores_of

    def texts_of(self, document: Document) -> Sequence[Texts]:
        """The texts of a document to score: only those that affect its score, none where it has no text."""
        return self._texts(document)[: aggregator(self.aggregate).enough]

    def combined(self, scores: Floats, starts: Integers) -> Values:
        """The documents' scores from their passages' logits, which begin at `starts`."""
        probabilities, as_probability = self.scorer().probabilities, self.aggregate_as == reranker.PROBABILITY
        if self.passages is None:
            return (probabilities(scores) if self.scores == reranker.PROBABILITY else scores).astype(np.float64)
        parts = (probabilities(scores) if as_probability else scores).astype(np.float64)
        combined = aggregator(self.aggregate)(parts, starts)
        if self.scores == reranker.PROBABILITY and not as_probability:
            return probabilities(combined.astype(np.float32)).astype(np.float64)
        return combined

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
    deepest = replace(stage, k=max(depths)).rescore(run)
    return {
        depth: replace(placed(run, Rescored(deepest.chosen & (run.ranks <= depth), deepest.scores)), tag=stage.name)
        for depth in depths
    }
