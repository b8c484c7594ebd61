"""Why a document stands where it does: its passages with their scores, and its ranks from stage to stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwell.core import Document, Run, Stage
from rankwell.core.progress import SILENT
from rankwell.core.stage import Given, as_run
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.parade_reading import BREAK
from rankwell.rerank.scoring import PairScores
from rankwell.rerank.tally import Tally


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
class Place:
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
    shown = (text.replace(BREAK, " ") for text in texts)
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


def places(traced: Sequence[tuple[str, Run]], qid: str, docno: str) -> list[Place]:
    """A document's rank and score after every step."""
    return [Place(name, *_found(run, qid, docno)) for name, run in traced]


def _found(run: Run, qid: str, docno: str) -> tuple[int | None, float | None]:
    if qid in run:
        for rank, (other, score) in enumerate(run[qid], 1):
            if other == docno:
                return rank, score
    return None, None
