"""What happens inside a transformer while it reads pairs: the states of its layers and what they attend to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import sqrt
from typing import Any

from torch import Tensor
from torch.nn import Module

from rankwell.core import RankwellError
from rankwell.train.freezing import transformer_layers

# What BERT, RoBERTa and ELECTRA call the projections of attention, and what DistilBERT does.
PROJECTIONS = (("query", "key"), ("q_lin", "k_lin"))


@dataclass(frozen=True)
class States:
    """Of pairs x tokens: `hidden[0]` are the embeddings and `hidden[n]` what layer n gives (pairs x tokens x width).

    `attention` has, for the layers that were asked for, the scores before the softmax, Q K^T / sqrt(d) (pairs x heads x
    tokens x tokens); the attention mask is not in them.
    """

    logits: Tensor
    hidden: Sequence[Tensor]
    attention: Sequence[Tensor]


def observe(model: Any, given: Mapping[str, Tensor], attention: Sequence[int] = ()) -> States:
    """Run a model and keep what it computes on the way; `attention`: of which layers, counted from 1."""
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
