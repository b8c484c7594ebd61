"""States of student and teacher on a batch: hidden states, attention, logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

from torch import Tensor
from torch.nn import Module

from rankwell.core import RankwellError
from rankwell.models.learning.starting_model import transformer_layers

# Names of the attention projections in BERT, RoBERTa and ELECTRA, and in DistilBERT.
PROJECTIONS = (("query", "key"), ("q_lin", "k_lin"))


@dataclass(frozen=True)
class States:
    """Hidden states: `hidden[0]` are the embeddings, `hidden[n]` the output of layer n (pairs x tokens x width).

    `attention` has, for the requested layers, the scores before the softmax, Q K^T / sqrt(d) (pairs x heads x
    tokens x tokens), without the attention mask.
    """

    logits: Tensor
    hidden: Sequence[Tensor]
    attention: Sequence[Tensor]


def observe(model: Any, given: Mapping[str, Tensor], attention: Sequence[int] = ()) -> States:
    """Run a model and record its states; `attention`: the layers to record, from 1."""
    layers = transformer_layers(model)
    seen: list[dict[str, Tensor]] = [{} for _ in attention]
    with ExitStack() as stack:
        for kept, number in zip(seen, attention, strict=True):
            for name, module in zip(("query", "key"), _projections(layers[number - 1]), strict=True):
                stack.callback(module.register_forward_hook(_keep(kept, name)).remove)
        output = model(**given, output_hidden_states=True)
    heads = int(model.config.num_attention_heads)
    scores = [_scores(kept["query"], kept["key"], heads) for kept in seen]
    return States(output.logits, output.hidden_states, scores)


def _keep(kept: dict[str, Tensor], name: str) -> Callable[[Module, Any, Tensor], None]:
    def hook(_: Module, __: Any, output: Tensor) -> None:
        kept[name] = output

    return hook


def _scores(query: Tensor, key: Tensor, heads: int) -> Tensor:
    """Q K^T / sqrt(d) for every head, from projections of pairs x tokens x width."""
    pairs, tokens, width = query.shape
    by_head = [one.view(pairs, tokens, heads, width // heads).transpose(1, 2) for one in (query, key)]
    return by_head[0] @ by_head[1].transpose(2, 3) / sqrt(width // heads)


def _projections(layer: Module) -> tuple[Module, Module]:
    parts = {name.rpartition(".")[2]: module for name, module in layer.named_modules()}
    for query, key in PROJECTIONS:
        if query in parts and key in parts:
            return parts[query], parts[key]
    raise RankwellError(
        "attention: expected layers as BERT, RoBERTa, ELECTRA or DistilBERT have them, found others: leave this loss "
        "out with --weights attention=0"
    )


@dataclass(frozen=True)
class Compared:
    """A batch of pairs with the output of both models.

    `logits` are the student's, `scores` the teacher's, one per pair. `labelled` masks labelled pairs. `sizes`:
    the numbers of consecutive pairs of each list. Where a loss needs them, `student` and `teacher` have the
    states of both; `layers` are the teacher's layers for those of the student, and `widen` projects a
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
        """The states of the student and of the teacher."""
        if self.student is None or self.teacher is None:
            raise ValueError("states: both models were to be observed")
        return self.student, self.teacher


@dataclass(frozen=True)
class DistilLoss(ABC):
    """A loss of a batch. `inside`: needs states. `lists`: needs the documents of a query together."""

    name: ClassVar[str]
    inside: ClassVar[bool] = False
    lists: ClassVar[bool] = False
    scores: ClassVar[bool] = False  # whether it needs the teacher's scores

    @abstractmethod
    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over the batch."""


def token_mean(differences: Tensor, mask: Tensor) -> Tensor:
    """The mean of pairs x tokens x width over all tokens without padding."""
    weights = mask.to(differences.dtype)
    return (differences.mean(dim=-1) * weights).sum() / weights.sum()
