"""The losses of distillation, and mixtures of them. Imports torch: import it late."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import binary_cross_entropy_with_logits, cosine_similarity

from rankwell.core import RankwellError
from rankwell.models.learning.losses import MarginMSE
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


class Attention(DistilLoss):
    """The mean squared difference of attention scores before the softmax, over layers, heads and pairs of tokens.

    mean over layers m and heads h of MSE(A_m,h, A^T_g(m),h), with A = Q K^T / sqrt(d); padding is left out

    TinyBERT (Jiao et al., 2020) also fits the scores before the softmax, which converges faster. Models with different
    numbers of heads are compared by the mean over their heads.
    """

    name = "attention"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over the student's layers."""
        student, teacher = compared.states()
        real = compared.mask.bool()
        both = (real[:, :, None] & real[:, None, :])[:, None].to(compared.logits.dtype)
        losses = []
        for ours, theirs in zip(student.attention, teacher.attention, strict=True):
            one, other = ours, theirs
            if one.shape[1] != other.shape[1]:
                one, other = (scores.mean(dim=1, keepdim=True) for scores in (one, other))
            losses.append(((one - other).square() * both).sum() / (both.sum() * one.shape[1]))
        return torch.stack(losses).mean()


class Cosine(DistilLoss):
    """1 - cosine of the last hidden states of both models, the mean over tokens without padding.

    Sanh et al., "DistilBERT, a distilled version of BERT: smaller, faster, cheaper and lighter", 2019.
    """

    name = "cosine"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over all tokens."""
        student, teacher = compared.states()
        cosines = cosine_similarity(compared.widen(student.hidden[-1]), teacher.hidden[-1], dim=-1)
        return (1 - cosines)[compared.mask.bool()].mean()


class Embedding(DistilLoss):
    """The mean squared difference of the embedding layers' output: MSE(E W, E^T), as of hidden states.

    Jiao et al., "TinyBERT: distilling BERT for natural language understanding", 2020.
    """

    name = "embedding"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over tokens (without padding) and dimensions."""
        student, teacher = compared.states()
        return token_mean((compared.widen(student.hidden[0]) - teacher.hidden[0]).square(), compared.mask)


class Hard(DistilLoss):
    """Pointwise: the binary cross-entropy of label and logit.

    - mean over the pairs with a label of y log s(x) + (1 - y) log(1 - s(x)), with s the sigmoid; 0 where none has one

    Chen et al., "Simplified TinyBERT: knowledge distillation for document retrieval", ECIR 2021, add it to TinyBERT's
    losses.
    """

    name = "hard"

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over the labelled pairs."""
        logits, labels = compared.logits[compared.labelled], compared.labels[compared.labelled]
        if not len(labels):
            return compared.logits.sum() * 0
        return binary_cross_entropy_with_logits(logits, labels)


class Hidden(DistilLoss):
    """The mean squared difference of states, over layers, tokens (no padding) and dimensions.

    mean over layers m of MSE(H_m W, H^T_g(m)), where g(m) is the teacher's layer for m; W, one for all
    layers, is learnt where the widths differ, else the identity

    Jiao et al., "TinyBERT: distilling BERT for natural language understanding", 2020, who sum over layers; with the
    mean, a weight means the same for students of any depth.
    """

    name = "hidden"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over the student's layers."""
        student, teacher = compared.states()
        losses = []
        for place, number in enumerate(compared.layers, 1):
            difference = compared.widen(student.hidden[place]) - teacher.hidden[number]
            losses.append(token_mean(difference.square(), compared.mask))
        return torch.stack(losses).mean()


class TeacherMargin(DistilLoss):
    """Pairwise, over all pairs of a list's documents: MarginMSE (`models.learning.losses`) with the teacher's scores.

    mean over i, j with t_i > t_j of ((x_i - x_j) - (t_i - t_j))^2

    Hofstätter et al., "Improving efficient neural ranking models with cross-architecture knowledge distillation", 2020.
    """

    name = "margin"
    lists = True
    scores = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over all pairs of the batch."""
        return MarginMSE()(compared.logits, compared.scores, list(compared.sizes))


@dataclass(frozen=True)
class Soft(DistilLoss):
    """Pointwise: the cross-entropy of two distributions at a temperature.

    T^2 mean of - sum_c p_c log q_c, with p = softmax(teacher's logits / T) and q = softmax(student's logits / T)

    A model with one logit x has the two classes 0 and x: p = sigmoid(x / T). A high T tells a score of -3 from one of
    -9, which at T = 1 are both "no"; the more T grows, the more this is the squared difference of scores. T^2 keeps the
    size of the gradients.

    Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015.
    """

    name = "soft"
    scores = True
    temperature: float = 1.0

    def __call__(self, compared: Compared) -> Tensor:
        """The mean loss over all pairs."""
        wanted = (compared.scores / self.temperature).sigmoid()
        logits = compared.logits / self.temperature
        return self.temperature**2 * binary_cross_entropy_with_logits(logits, wanted)


@dataclass(frozen=True)
class Mixture:
    """The weighted sum of losses; losses of weight 0 are not computed."""

    parts: tuple[tuple[float, DistilLoss], ...]

    @classmethod
    def of(cls, weights: Mapping[str, float], temperature: float) -> Mixture:
        """Create from weights by loss name."""
        every: tuple[DistilLoss, ...] = (
            *(Embedding(), Attention(), Hidden(), Cosine()),
            *(Soft(temperature), TeacherMargin(), Hard()),
        )
        named = {loss.name: loss for loss in every}
        return cls(tuple((weight, named[name]) for name, weight in weights.items() if weight))

    @property
    def inside(self) -> bool:
        """Whether a loss needs hidden states."""
        return any(loss.inside for _, loss in self.parts)

    @property
    def lists(self) -> bool:
        """Whether a loss needs the documents of a query together."""
        return any(loss.lists for _, loss in self.parts)

    @property
    def scores(self) -> bool:
        """Whether a loss needs the teacher's scores."""
        return any(loss.scores for _, loss in self.parts)

    @property
    def attention(self) -> bool:
        """Whether a loss needs attention scores."""
        return any(isinstance(loss, Attention) for _, loss in self.parts)

    def __call__(self, compared: Compared) -> Tensor:
        """The weighted sum of the losses."""
        first, *others = (weight * loss(compared) for weight, loss in self.parts)
        return sum(others, first)
