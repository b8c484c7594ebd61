"""Which weights are trained."""

from __future__ import annotations

from typing import Any

import pytest

from rankwell.core import ParameterError
from rankwell.models.learning.starting_model import freeze, transformer_layers, with_dropout
from tiny_models import needs_torch

needs_torch()


SMALL = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}


def bert() -> Any:
    import transformers

    config = transformers.BertConfig(**SMALL, intermediate_size=32, num_labels=1)
    return transformers.BertForSequenceClassification(config)


def trained(model: Any) -> set[str]:
    names = (name for name, weights in model.named_parameters() if weights.requires_grad)
    return {".".join(name.split(".")[: 4 if "layer." in name else 2]) for name in names}


LAYERS = {f"bert.encoder.layer.{number}" for number in range(3)}
REST = {"bert.pooler", "classifier.weight", "classifier.bias"}


def test_nothing_is_frozen_unless_asked_for() -> None:
    model = bert()
    assert freeze(model, "none") == sum(weights.numel() for weights in model.parameters())
    assert trained(model) == {"bert.embeddings", *LAYERS, *REST}


def test_the_head_alone_is_pooler_and_classifier() -> None:
    model = bert()
    assert freeze(model, "head") == (16 * 16 + 16) + (16 + 1)
    assert trained(model) == REST


def test_embeddings_and_first_layers_stay_as_they_are() -> None:
    model = bert()
    freeze(model, "embeddings")
    assert trained(model) == {*LAYERS, *REST}
    model = bert()
    freeze(model, "layers:2")
    assert trained(model) == {"bert.encoder.layer.2", *REST}


@pytest.mark.parametrize("wrong", ["layers:0", "layers:4", "layers:two", "body", ""])
def test_what_a_model_does_not_have_cannot_be_frozen(wrong: str) -> None:
    with pytest.raises(ParameterError, match="freeze: expected"):
        freeze(bert(), wrong)


@pytest.mark.parametrize(
    ("kind", "config", "changes"),
    [
        (
            "DistilBertForSequenceClassification",
            "DistilBertConfig",
            {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 32},
        ),
        ("RobertaForSequenceClassification", "RobertaConfig", {**SMALL, "intermediate_size": 32}),
        ("ElectraForSequenceClassification", "ElectraConfig", {**SMALL, "intermediate_size": 32, "embedding_size": 8}),
    ],
)
def test_layers_are_found_whatever_they_are_called(kind: str, config: str, changes: dict[str, int]) -> None:
    import transformers

    model = getattr(transformers, kind)(getattr(transformers, config)(**{"vocab_size": 50, **changes}))
    assert len(transformer_layers(model)) == 3
    before = sum(weights.numel() for weights in model.parameters())
    assert 0 < freeze(model, "layers:1") < before


def test_layers_that_share_their_weights_cannot_be_frozen_one_by_one() -> None:
    import transformers

    sizes = {**SMALL, "intermediate_size": 32, "embedding_size": 8}
    model = transformers.AlbertForSequenceClassification(transformers.AlbertConfig(**sizes))
    with pytest.raises(ParameterError, match="share their weights"):
        freeze(model, "layers:1")
    freeze(model, "head")
    assert all("pooler" in name or "classifier" in name for name, x in model.named_parameters() if x.requires_grad)


def test_dropout_reaches_every_part_of_a_model() -> None:
    import torch
    import transformers

    config = with_dropout(transformers.BertConfig(**SMALL, intermediate_size=32), 0.25)
    model = transformers.BertForSequenceClassification(config)
    found = {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)}
    assert found == {0.25}
    assert with_dropout(transformers.BertConfig(), None).hidden_dropout_prob == 0.1
