"""The cross-encoder: BERT reads query and document together, and re-orders the top of a run."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import Document, ParameterError, Run, Template, fingerprint
from rankwell.core.arrays import Floats, Integers
from rankwell.core.progress import Progress
from rankwell.core.scales import Values
from rankwell.index import Index
from rankwell.rerank.aggregators import aggregator
from rankwell.rerank.candidates import BLOCK, Candidates
from rankwell.rerank.linear_model import LinearModel
from rankwell.rerank.loading import load_scorer
from rankwell.rerank.passages import Passages
from rankwell.rerank.placing import Rescored, placed
from rankwell.rerank.reranker import Reranker
from rankwell.rerank.score_cache import ScoreCache
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.scoring import PairScores, reported, wanted_at_once
from rankwell.rerank.tally import Tally
from rankwell.rerank.texts import DocumentTexts, check_fields, document_texts, query_texts

log = logging.getLogger(__name__)

KINDS = ("logit", "probability")
MISSING = ("error", "below")
HOW = ("cache", "threads", "quiet", "tally")  # parameters that the result does not depend on
OF_SCORER = ("max_tokens", "query_tokens", "precision")


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

    model: str | Scorer
    k: int = 100
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
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)
        aggregator(self.aggregate)
        choices = {"aggregate_as": KINDS, "scores": KINDS, "missing": MISSING}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ParameterError(name, expected=" or ".join(known), found=getattr(self, name))
        if self.document is not None:
            Template(self.document)
        given = [name for name in (*OF_SCORER, "threads") if getattr(self, name) is not None]
        if given and not isinstance(self.model, str):
            expected = "nothing, because the model is a scorer with settings of its own"
            raise ParameterError(given[0], expected=expected, found=getattr(self, given[0]))

    @property
    def name(self) -> str:
        """A short name for runs."""
        return Path(self.model).name if isinstance(self.model, str) else type(self.model).__name__

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

    def check(self) -> None:
        """Refuse an unknown model, one that does not rank, and fields that the index does not have."""
        scorer = self.scorer()
        scorer.scores(scorer.logits([]))  # a model that cannot rank says so here
        if self.document is not None and self.index is not None:
            Template(self.document).check(self.index.fields)

    def parameters(self) -> dict[str, Any]:
        """What the result depends on."""
        return {name: value for name, value in super().parameters().items() if name not in HOW}

    def fingerprint(self) -> str:
        """Over the weights and not their name: a folder may be filled anew."""
        chosen = {name: value for name, value in self.parameters().items() if name not in OF_SCORER}
        return fingerprint([type(self).__qualname__, self.version, {**chosen, "model": self._weights}])

    def apply(self, run: Run) -> Run:
        """Re-rank the top."""
        documents = run.documents if self.index is None else self.index.documents
        return replace(placed(run, self.rescore(run)), tag=self.name, documents=documents)

    def rescore(self, run: Run) -> Rescored:
        """The new scores alone."""
        scorer = self.scorer()
        candidates = self._candidates(run)
        found = Rescored(np.zeros(len(run), dtype=bool), np.zeros(len(run)))
        with reported(scorer, self.tally), self._progress(candidates) as progress, self.kept_scores() as cache:
            score = PairScores(scorer, cache, self.tally, progress)
            for block in candidates.blocks(max(BLOCK, wanted_at_once(scorer, BLOCK))):
                rows = [candidate.row for candidate in block]
                scores = score([(candidate.query, text) for candidate in block for text in candidate.texts])
                starts = np.cumsum([0, *(len(candidate.texts) for candidate in block[:-1])])
                found.scores[rows] = self.combined(scores, starts)
                found.chosen[rows] = True
                self.tally.documents += len(rows)
        self.tally.empty += candidates.empty
        if candidates.empty:
            log.warning("%d documents have no text to score, and stay below the others", candidates.empty)
        return found

    def kept_scores(self) -> AbstractContextManager[ScoreCache | None]:
        """What earlier runs left of this scorer, to be opened; nothing where it is not wanted."""
        if self.cache is False or isinstance(self.scorer(), LinearModel):  # which is quicker than looking up
            return nullcontext()
        return ScoreCache(self._weights, None if self.cache is True else self.cache)

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
    def _weights(self) -> str:
        """The scorer's fingerprint, which takes long enough to be made only once."""
        return self.scorer().fingerprint()

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self.passages)

    def _candidates(self, run: Run) -> Candidates:
        queries = query_texts(run, self.query_field)
        documents = document_texts(run, self.k, self.index, allow_missing=self.missing == "below")
        if self.document is not None and self.index is None:
            check_fields(Template(self.document), run, documents)
        return Candidates(run, self.k, queries, documents, self.texts_of)

    def _progress(self, candidates: Candidates) -> Progress:
        """A display in pairs; nobody knows the number of passages before, so documents tell how far it is."""
        total = candidates.count if self.passages is None else None
        progress = Progress(f"re-ranking ({self.name})", unit="pairs", total=total, quiet=self.quiet)
        progress.watch(lambda: candidates.done, candidates.count)
        return progress
