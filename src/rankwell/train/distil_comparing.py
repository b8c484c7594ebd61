"""The loss of a step of distillation: both models read the batch, and are compared. Loads torch: import it late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import Linear

from rankwell.core import RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.train.distil_losses import Compared, Mixture
from rankwell.train.distil_states import States, observe
from rankwell.train.distillation import WIDENING
from rankwell.train.freezing import transformer_layers
from rankwell.train.layer_map import layer_map
from rankwell.train.teacher import load_teacher, score_of

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, eq=False)
class Comparing:
    """The mixture of losses. The teacher is run only where one of them looks inside it; it never learns."""

    mixture: Mixture
    teacher: Any | None = None
    next_sentence: bool = False
    layers: Sequence[int] = ()

    @classmethod
    def of(cls, mixture: Mixture, master: ModelFolder, start: ModelFolder, student: Any, targets: str) -> Comparing:
        """With the teacher loaded, where it is needed, and a projection in the student, where the widths differ."""
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
        """The loss of a batch that `DistilBatches` made."""
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
        """What both models compute."""
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
    """What of a batch a model takes: one that does not tell the first text from the second is not told."""
    segments = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
    return {name: batch[name] for name in INPUTS if name in batch and (segments or name != "token_type_ids")}


def check_same_tokens(teacher: ModelFolder, student: ModelFolder) -> None:
    """Refuse models that cut texts into different tokens: their states cannot be compared."""
    if teacher.path == student.path:
        return
    one, other = (Tokenizer.from_file(str(folder.tokenizer_file)).get_vocab() for folder in (teacher, student))
    if one != other:
        raise RankwellError(
            f"{student.name}: expected the teacher's tokenizer, to compare what happens inside both, found another "
            f"({len(one):,} entries and {len(other):,}): distil scores alone, with --method soft or margin-mse"
        )
