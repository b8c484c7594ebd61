"""What a loss of distillation looks at: a student and its teacher, after both have read the same pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from rankwell.train.distil_states import States


@dataclass(frozen=True)
class Compared:
    """A batch of pairs, read by both.

    `logits` are the student's, `scores` the teacher's, one a pair. `labelled` says which pairs have a label. `sizes`:
    how many of the pairs, in turn, belong to each list. Where a loss needs them, `student` and `teacher` have the
    states of both; `layers` are the numbers of the teacher's layers that go with the student's, and `widen` takes a
    student's state to the teacher's width.
    """

    logits: Tensor
    scores: Tensor
    labels: Tensor
    labelled: Tensor
    sizes: Sequence[int]
    mask: Tensor
    student: States | None = None
    teacher: States | None = None
    layers: Sequence[int] = ()
    widen: Callable[[Tensor], Tensor] = lambda state: state

    def states(self) -> tuple[States, States]:
        """The student's and the teacher's."""
        if self.student is None or self.teacher is None:
            raise ValueError("states: both models were to be observed")
        return self.student, self.teacher


@dataclass(frozen=True)
class DistilLoss(ABC):
    """One number of a batch, to make small. `inside`: needs states. `lists`: looks at a query's documents together."""

    name: ClassVar[str]
    inside: ClassVar[bool] = False
    lists: ClassVar[bool] = False
    scores: ClassVar[bool] = False  # whether it needs the teacher's scores

    @abstractmethod
    def __call__(self, compared: Compared) -> Tensor:
        """The mean over the batch."""


def token_mean(differences: Tensor, mask: Tensor) -> Tensor:
    """The mean of pairs x tokens x width over all tokens that are no padding."""
    weights = mask.to(differences.dtype)
    return (differences.mean(dim=-1) * weights).sum() / weights.sum()
