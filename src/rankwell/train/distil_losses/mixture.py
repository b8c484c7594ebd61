"""Losses added up with weights: a method of distillation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from rankwell.train.distil_losses.attention import Attention
from rankwell.train.distil_losses.compared import Compared, DistilLoss
from rankwell.train.distil_losses.cosine import Cosine
from rankwell.train.distil_losses.embedding import Embedding
from rankwell.train.distil_losses.hard import Hard
from rankwell.train.distil_losses.hidden import Hidden
from rankwell.train.distil_losses.margin import TeacherMargin
from rankwell.train.distil_losses.soft import Soft


@dataclass(frozen=True)
class Mixture:
    """sum of weight x loss; losses with the weight 0 are not computed."""

    parts: tuple[tuple[float, DistilLoss], ...]

    @classmethod
    def of(cls, weights: Mapping[str, float], temperature: float) -> Mixture:
        """From weights by the names of the losses."""
        every: tuple[DistilLoss, ...] = (
            *(Embedding(), Attention(), Hidden(), Cosine()),
            *(Soft(temperature), TeacherMargin(), Hard()),
        )
        named = {loss.name: loss for loss in every}
        return cls(tuple((weight, named[name]) for name, weight in weights.items() if weight))

    @property
    def inside(self) -> bool:
        """Whether states are needed."""
        return any(loss.inside for _, loss in self.parts)

    @property
    def lists(self) -> bool:
        """Whether a query's documents are looked at together."""
        return any(loss.lists for _, loss in self.parts)

    @property
    def scores(self) -> bool:
        """Whether the teacher's scores are needed."""
        return any(loss.scores for _, loss in self.parts)

    @property
    def attention(self) -> bool:
        """Whether attention scores are needed."""
        return any(isinstance(loss, Attention) for _, loss in self.parts)

    def __call__(self, compared: Compared) -> Tensor:
        """The sum."""
        first, *others = (weight * loss(compared) for weight, loss in self.parts)
        return sum(others, first)
