"""Interpolation with the first run, and explanations: why a document stands where it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwell.core import SILENT, Booleans, Document, Run, Stage, Values
from rankwell.core.parameters import Number, Whole, check_parameters, param
from rankwell.core.run import unit
from rankwell.core.stage import Given, as_run
from rankwell.models.base.tokens import as_text
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.reranking.reranker import Rescored, placed
from rankwell.models.reranking.scores import PairScores, Tally


@dataclass(frozen=True)
class PassageScore:
    """A text that the model read, with its logit and what that is as a probability."""

    text: str
    score: float
    probability: float


@dataclass(frozen=True)
class RerankExplanation:
    """A document's score and the passages that it was made of; one passage where the document was read as a whole."""

    docno: str
    score: float | None  # None where the document has no text
    passages: tuple[PassageScore, ...]

    @property
    def best(self) -> PassageScore | None:
        """The passage with the highest score; the first of several."""
        return max(self.passages, key=lambda passage: passage.score, default=None)


@dataclass(frozen=True)
class StageRank:
    """Where a document stood after a stage; None where it was not in its run."""

    stage: str
    rank: int | None
    score: float | None


def explain_rerank(stage: CrossEncoder, query: str, document: Document) -> RerankExplanation:
    """The score that the stage gives a document for a query, and where it comes from."""
    texts = stage.texts_of(document) if query.strip() else []
    if not texts:
        return RerankExplanation(document.id, None, ())
    scorer = stage.scorer()
    with stage.kept_scores() as cache:
        scores = PairScores(scorer, cache, Tally(), SILENT)([(query, text) for text in texts])
    chances = scorer.probabilities(scores)
    total = stage.combined(scores, np.zeros(1, dtype=np.int64))
    shown = map(as_text, texts)
    passages = map(PassageScore, shown, scores.tolist(), chances.tolist())
    return RerankExplanation(document.id, float(np.float32(total[0])), tuple(passages))


def trace(stage: Stage, given: Given) -> list[tuple[str, Run]]:
    """The run after every step of a pipeline, under the step's name."""
    stage.check()
    run, found = as_run(given), []
    for step in stage.stages:
        run = step.apply(run)
        found.append((type(step).__name__, run))
    return found


def places(traced: Sequence[tuple[str, Run]], qid: str, docno: str) -> list[StageRank]:
    """A document's rank and score after every step."""
    return [StageRank(name, *_found(run, qid, docno)) for name, run in traced]


def _found(run: Run, qid: str, docno: str) -> tuple[int | None, float | None]:
    if qid in run:
        for rank, (other, score) in enumerate(run[qid], 1):
            if other == docno:
                return rank, score
    return None, None


@dataclass(frozen=True)
class Interpolate(Stage):
    """Mix a re-ranker with the run it re-ranked: alpha * reranker + (1 - alpha) * first.

    Both are brought to [0, 1] per query first, because BM25 has no fixed scale; over the re-ranked top only (`k`, or as
    deep as the re-ranker goes by itself). Documents below stay below.

    >>> BM25(index) >> Interpolate(CrossEncoder("ms-marco-minilm-l12", k=50), alpha=0.7)
    """

    reranker: Stage
    alpha: float = param(0.5, "Share of the re-ranker's score; the rest is the first stage's.", Number(0, 1))
    k: int | None = param(None, "Number of documents whose scores are mixed.", Whole(1))

    def __post_init__(self) -> None:
        check_parameters(self)

    def check(self) -> None:
        """Check the re-ranker."""
        self.reranker.check()

    def depth(self, run: Run) -> int:
        """How many documents of each query are mixed."""
        own = self.k or getattr(self.reranker.stages[0], "k", None)
        return int(own or np.diff(run.offsets).max(initial=1))

    def apply(self, run: Run) -> Run:
        """Re-rank, mix, and put the others below."""
        return self.mixed(run, self.reranker.apply(run.top(self.depth(run))))

    def mixed(self, run: Run, second: Run) -> Run:
        """Mix a run with its re-ranked top."""
        depth = self.depth(run)
        first = run.top(depth)
        again, there = aligned(unit(second), second, first)
        found = Rescored(run.ranks <= depth, np.zeros(len(run)))
        found.scores[found.chosen] = self.alpha * again + (1 - self.alpha) * unit(first)
        found.chosen[found.chosen] = there
        return replace(placed(run, found), tag=second.tag)


def aligned(values: Values, of: Run, to: Run) -> tuple[Values, Booleans]:
    """The values of a run's documents in the order of another run, and which of them there are."""
    bounds = dict(zip(of.qids, zip(of.offsets[:-1].tolist(), of.offsets[1:].tolist(), strict=True), strict=True))
    found = np.full(len(to), np.nan)
    place = 0
    for qid, ranking in to.rankings():
        start, end = bounds.get(qid, (0, 0))
        known = dict(zip(of.docnos[start:end].tolist(), values[start:end].tolist(), strict=True))
        found[place : place + len(ranking)] = [known.get(docno, np.nan) for docno in ranking.docnos.tolist()]
        place += len(ranking)
    there = ~np.isnan(found)
    return np.where(there, found, 0), there
