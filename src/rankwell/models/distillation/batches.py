"""The pairs of a distillation: their tokens, labels (if any), and the teacher's scores."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwell.core import Floats, Integers, Progress, RankwellError
from rankwell.evaluation import parse_measure
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import PairTokens
from rankwell.models.distillation.student import teacher_scorer, teacher_scores
from rankwell.models.learning.losses import loss_named
from rankwell.models.learning.pair_batches import (
    PairBatches,
    TokenisedPairs,
    padding_and_segments,
    query_lists,
    single_pairs,
)
from rankwell.models.learning.pairs import UNLABELLED, Pairs
from rankwell.models.learning.validation import RankingValidation, validation_measures

if TYPE_CHECKING:
    from rankwell.models.distillation.losses import Mixture
    from rankwell.models.distillation.training import DistilSettings


log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class DistilBatches:
    """Makes batches: the models' input, labels, a mask of labelled pairs, and the teacher's scores."""

    tokens: PairBatches
    cut: PairTokens
    labelled: NDArray[np.bool_]
    scores: Floats
    examples: list[Integers]
    segments: bool  # whether the student has segment ids

    @classmethod
    def of(
        cls,
        pairs: Pairs,
        settings: DistilSettings,
        mixture: Mixture,
        *,
        master: ModelFolder,
        start: ModelFolder,
        model: Any,
        quiet: bool,
    ) -> DistilBatches:
        """Tokenise all pairs; compute the teacher's scores, unless it runs at every step anyway."""
        if not len(pairs):
            raise RankwellError(f"{pairs.folder}: expected pairs to train on, found none")
        cut = PairTokens(start.load_tokenizer(), settings.max_tokens or 0, settings.query_tokens)
        with Progress("tokenising", unit="pairs", total=len(pairs), quiet=quiet) as progress:
            tokenised = TokenisedPairs.of(pairs, cut, progress)
        if cut.truncated.documents_cut or cut.truncated.queries_cut:
            log.warning("%s", cut.truncated)
        labelled = labelled_rows(pairs)
        _check_labels(tokenised.labels, labelled, mixture)
        scores = np.zeros(len(tokenised), dtype=np.float32)
        if mixture.lists or (mixture.scores and not mixture.inside):
            scorer = teacher_scorer(master, settings.max_tokens or 0, settings.query_tokens, settings.threads)
            with Progress("asking the teacher", unit="pairs", total=len(pairs), quiet=quiet) as progress:
                scores = teacher_scores(scorer, pairs, progress)
        examples = single_pairs(len(tokenised))
        if mixture.lists:
            examples = query_lists(tokenised.groups, scores, settings.list_size)
        if not examples:
            raise RankwellError(
                f"{pairs.folder}: expected queries with several documents, to compare them with one another, found none"
            )
        padding, segments = padding_and_segments(model.config)
        tokens = PairBatches(tokenised, padding, segments=True)  # one of the two models may need them
        return cls(tokens, cut, labelled, scores, examples, segments)

    def __call__(self, examples: Sequence[Integers]) -> dict[str, Any]:
        """A batch of examples, each with the rows of one pair or of one list of pairs."""
        import torch

        rows = np.concatenate(examples)
        batch = self.tokens(examples)
        batch["scores"] = torch.from_numpy(self.scores[rows])
        batch["labelled"] = torch.from_numpy(self.labelled[rows])
        return batch


def labelled_rows(pairs: Pairs) -> NDArray[np.bool_]:
    """Mask of labelled pairs: all but those marked as unlabelled."""
    if "kind" not in pairs.columns:
        return np.ones(len(pairs), dtype=bool)
    return np.array([kind != UNLABELLED for kind in pairs.column("kind")], dtype=bool)


def validation_of(pairs: Pairs, batches: DistilBatches, measure: str) -> RankingValidation:
    """Measures the ranking of labelled pairs, truncated like the training pairs."""
    if not labelled_rows(pairs).any():
        expected = f"labelled pairs to measure {parse_measure(measure)} on"
        raise RankwellError(f"{pairs.folder}: expected {expected}, found unlabelled ones")
    held_out = TokenisedPairs.of(pairs, batches.cut)
    inner = PairBatches(held_out, batches.tokens.padding, batches.segments)
    return RankingValidation(inner, validation_measures(held_out, measure), loss_named("bce"))


def _check_labels(labels: Floats, labelled: NDArray[np.bool_], mixture: Mixture) -> None:
    """Refuse missing labels where the hard loss needs them."""
    if "hard" not in (loss.name for _, loss in mixture.parts):
        return
    known = labels[labelled]
    if not len(known):
        if len(mixture.parts) == 1:
            raise RankwellError("pairs: expected labels to learn from, found none: make the pairs from judgments")
        log.warning("no pair has a label: the hard loss is left out")
    elif known.min() < 0 or known.max() > 1:
        raise RankwellError(
            f"pairs: expected labels from 0 to 1 for the hard loss, found {known.min():g} to {known.max():g}: "
            "make the pairs with a minimum grade, or leave it out with --weights hard=0"
        )
