"""One step of distillation: both models read the batch, and the losses compare them. Imports torch: import it late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import Linear

from rankwell.core import RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.distillation.losses import Compared, Mixture, States, observe
from rankwell.models.distillation.student import layer_map, load_teacher, score_of
from rankwell.models.distillation.training import WIDENING
from rankwell.models.learning.pair_batches import padding_and_segments
from rankwell.models.learning.starting_model import transformer_layers

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


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
        if self.teacher is None:
            logits = model(**given_to(model, batch)).logits.reshape(-1).float()
            return self.mixture(Compared(logits, batch["scores"], **common))
        seen, wanted = self._observed(model, batch)
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

    def _observed(self, model: Any, batch: Mapping[str, Any]) -> tuple[States, States]:
        """The states of both models for a batch."""
        teacher = self.teacher
        if teacher is None:
            raise ValueError("teacher: none was loaded")
        own = range(1, len(self.layers) + 1) if self.mixture.attention else ()
        theirs = self.layers if self.mixture.attention else ()
        with torch.no_grad():
            teacher.to(batch["input_ids"].device)
            wanted = observe(teacher, given_to(teacher, batch), theirs)
        return observe(model, given_to(model, batch), own), wanted


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
