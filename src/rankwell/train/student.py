"""The student of a distillation: a model of its own, or one that is made of the teacher's layers."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any, Self

from rankwell.core import ParameterError, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.train.dropout import with_dropout
from rankwell.train.freezing import transformer_layers
from rankwell.train.layer_map import layer_map
from rankwell.train.starting_model import find_trainable, load_classifier
from rankwell.train.teacher import load_teacher

log = logging.getLogger(__name__)

OF_TEACHER = re.compile(r"teacher:(?P<layers>\d+)(x(?P<width>\d+))?")


@dataclass(frozen=True)
class Student:
    """What the student is made of.

    teacher:6       6 of the teacher's layers, with its embeddings and its head
    teacher:3x192   3 layers as the teacher's are, but 192 wide; nothing of another width can be copied, so that its
                    weights start at random. It has as many attention heads as the teacher
    anything else   a folder or a name: its weights, with a new head where it has none for one logit
    """

    layers: int | None = None
    width: int | None = None
    model: str | None = None

    @classmethod
    def parse(cls, told: str) -> Self:
        """From what the user wrote."""
        if not told.startswith("teacher:"):
            return cls(model=told)
        found = OF_TEACHER.fullmatch(told)
        if found is None:
            raise ParameterError("student", expected="teacher:6, teacher:3x192, a folder or a name", found=told)
        return cls(int(found["layers"]), None if found["width"] is None else int(found["width"]))

    def folder(self, teacher: ModelFolder) -> ModelFolder:
        """Where its first weights and its tokenizer come from."""
        return teacher if self.model is None else find_trainable(self.model)

    def make(self, teacher: ModelFolder, layers: str, dropout: float | None) -> Any:
        """The model in torch, with one logit. `layers` says which of the teacher's layers are taken."""
        if self.model is not None:
            return load_classifier(find_trainable(self.model), dropout)
        if teacher.next_sentence:
            raise RankwellError(
                f"{teacher.name}: expected a classifier (...ForSequenceClassification) to make a student of, found a "
                "next-sentence head: name another model as the student"
            )
        inner = load_teacher(teacher)
        depth = len(transformer_layers(inner))
        if depth != inner.config.num_hidden_layers:
            raise RankwellError(f"{teacher.name}: expected layers with weights of their own, found shared ones")
        chosen = layer_map(layers, self.layers or 0, depth)
        student = type(inner)(self._config(inner.config, chosen, dropout)).float()
        if self.width is None or self.width == inner.config.hidden_size:
            copy_layers(inner, student, chosen)
        else:
            log.warning("a student of another width than the teacher's: its weights start at random")
        return student

    def _config(self, config: Any, chosen: tuple[int, ...], dropout: float | None) -> Any:
        made = type(config).from_dict({**config.to_dict(), "id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}})
        made.num_hidden_layers = len(chosen)
        if getattr(config, "layer_types", None):  # models whose layers are not all of one kind
            made.layer_types = [config.layer_types[number - 1] for number in chosen]
        if self.width is not None:
            heads, before = int(config.num_attention_heads), int(config.hidden_size)
            if not self.width or self.width % heads:
                expected = f"a width that {heads} attention heads, the teacher's, can share"
                raise ParameterError("student", expected=expected, found=self.width)
            made.hidden_size = self.width
            inner = next(name for name in ("intermediate_size", "hidden_dim") if hasattr(config, name))
            setattr(made, inner, getattr(config, inner) * self.width // before)
        return with_dropout(made, dropout)


def copy_layers(teacher: Any, student: Any, chosen: tuple[int, ...]) -> None:
    """Give a student the weights of these layers of a teacher (counted from 1), and of all that is no layer.

    Of a head with two labels it gets the difference, "relevant" less "not relevant": its one logit is then the score
    that the teacher ranks by.
    """
    place = _layers_name(teacher)
    given = teacher.state_dict()
    taken = {}
    for name, tensor in student.state_dict().items():
        source = given[_in_teacher(name, place, chosen)]
        if source.shape != tensor.shape:
            source = source[1:2] - source[0:1]
        taken[name] = source
    student.load_state_dict(taken)


def _in_teacher(name: str, place: str, chosen: tuple[int, ...]) -> str:
    """The name that a student's weight has in the teacher."""
    if not name.startswith(f"{place}."):
        return name
    number, _, rest = name.removeprefix(f"{place}.").partition(".")
    return f"{place}.{chosen[int(number)] - 1}.{rest}"


def _layers_name(model: Any) -> str:
    """What the list of layers is called in the model: `bert.encoder.layer`."""
    first = transformer_layers(model)[0]
    name: str = next(name for name, module in model.named_modules() if module is first)
    return name.rpartition(".")[0]
