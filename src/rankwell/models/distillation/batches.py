"""One step of distillation: a batch of pairs, which both models read, and the losses that compare them.

Imports torch: import it late.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import Linear

from rankwell.core import Floats, Integers, Progress, RankwellError
from rankwell.evaluation import parse_measure
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import PairTokens
from rankwell.models.distillation.losses import Compared, Mixture, observe
from rankwell.models.distillation.student import layer_map, load_teacher, score_of, teacher_scorer, teacher_scores
from rankwell.models.distillation.training import WIDENING, DistilSettings
from rankwell.models.learning import pair_batches
from rankwell.models.learning.losses import loss_named
from rankwell.models.learning.pair_batches import PairBatches, TokenisedPairs, padding_and_segments
from rankwell.models.learning.pairs import UNLABELLED, Pairs
from rankwell.models.learning.starting_model import transformer_layers
from rankwell.models.learning.validation import RankingValidation, validation_measures

log = logging.getLogger(__name__)

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


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
        examples = pair_batches.single_pairs(len(tokenised))
        if mixture.lists:
            examples = pair_batches.query_lists(tokenised.groups, scores, settings.list_size)
        if not examples:
            raise RankwellError(
                f"{pairs.folder}: expected queries with several documents, to compare them with one another, found none"
            )
        padding, segments = padding_and_segments(model.config)
        tokens = PairBatches(tokenised, padding, segments=True)  # one of the two models may need them
        return cls(tokens, cut, labelled, scores, examples, segments)

    def __call__(self, examples: Sequence[Integers]) -> dict[str, Any]:
        """A batch of examples, each with the rows of one pair or of one list of pairs."""
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


@dataclass(frozen=True, eq=False)
class Comparing:
    """The mixture of losses. The teacher is frozen, and runs only where a loss needs its states."""

    mixture: Mixture
    teacher: Any | None = None
    next_sentence: bool = False
    layers: Sequence[int] = ()

    @classmethod
    def of(cls, mixture: Mixture, master: ModelFolder, start: ModelFolder, student: Any, targets: str) -> Comparing:
        """Load the teacher where it is needed, and add a projection to the student where the widths differ."""
        if not mixture.inside:
            return cls(mixture)
        check_same_tokens(master, start)
        teacher = load_teacher(master)
        if len(transformer_layers(teacher)) != teacher.config.num_hidden_layers and mixture.attention:
            raise RankwellError(f"{master.name}: expected layers with weights of their own, found shared ones")
        layers = layer_map(targets, int(student.config.num_hidden_layers), int(teacher.config.num_hidden_layers))
        widths = int(student.config.hidden_size), int(teacher.config.hidden_size)
        if widths[0] != widths[1]:
            student.add_module(WIDENING, Linear(*widths, bias=False))
        return cls(mixture, teacher, master.next_sentence, layers)

    def __call__(self, model: Any, batch: Mapping[str, Any]) -> Tensor:
        """The loss of a batch from `DistilBatches`."""
        common = {name: batch[name] for name in ("labels", "labelled")}
        common |= {"sizes": batch["sizes"].tolist(), "mask": batch["attention_mask"]}
        teacher = self.teacher
        if teacher is None:
            logits = model(**given_to(model, batch)).logits.reshape(-1).float()
            return self.mixture(Compared(logits, batch["scores"], **common))
        own, theirs = (range(1, len(self.layers) + 1), self.layers) if self.mixture.attention else ((), ())
        with torch.no_grad():
            teacher.to(batch["input_ids"].device)
            wanted = observe(teacher, given_to(teacher, batch), theirs)
        seen = observe(model, given_to(model, batch), own)
        scores = score_of(wanted.logits, next_sentence=self.next_sentence)
        return self.mixture(
            Compared(
                seen.logits.reshape(-1).float(),
                scores,
                **common,
                student=seen,
                teacher=wanted,
                layers=self.layers,
                widen=getattr(model, WIDENING, None) or (lambda state: state),
            )
        )


def given_to(model: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
    """The model's part of a batch: without segment ids for a model that has none."""
    _, segments = padding_and_segments(model.config)
    return {name: batch[name] for name in INPUTS if name in batch and (segments or name != "token_type_ids")}


def check_same_tokens(teacher: ModelFolder, student: ModelFolder) -> None:
    """Refuse models with different tokenizers: their states cannot be compared."""
    if teacher.path == student.path:
        return
    one, other = (Tokenizer.from_file(str(folder.tokenizer_file)).get_vocab() for folder in (teacher, student))
    if one != other:
        raise RankwellError(
            f"{student.name}: expected the teacher's tokenizer, to compare what happens inside both, found another "
            f"({len(one):,} entries and {len(other):,}): distil scores alone, with --method soft or margin-mse"
        )
