"""The four review rankers in PyTorch and as ONNX graphs: gradients, padding, heads, and that they can learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from architecture_pairs import review_pairs
from rankwell.core import ParameterError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.tokens import Tokenizer
from rankwell.models.review_rankers.architectures import ARCHITECTURES, Example
from rankwell.models.review_rankers.ranking import ArchitectureScorer, ExampleTokens
from rankwell.models.review_rankers.training import (
    ArchitectureExamples,
    ArchitectureSettings,
    ExampleBatches,
    load_architecture_model,
    write_architecture,
)
from tiny_models import needs_torch, tiny_bert, tiny_model

needs_torch()

QUICK = ArchitectureSettings(max_tokens=32, threads=1)
ALL_WAYS = [(kind, shared, freeze) for kind in ARCHITECTURES for shared, freeze in ((False, "none"), (True, "head"))]
SMALL = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 2}
EXAMPLES = [
    Example("fever", "cough", "fever in the old and the new", "blood and heart"),
    Example("honey bees", "a", "telescope moon", "sleep " * 20),
    Example("night", "the moon of jupiter", "mirror " * 40, ""),
    Example("virus", "", "", "virus"),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    """So few numbers are added quicker by one thread than shared out."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    return ModelFolder("tiny", tiny_bert(tmp_path_factory.mktemp("body")))


def made(body: ModelFolder, settings: ArchitectureSettings) -> Any:
    import torch

    torch.manual_seed(1)
    return load_architecture_model(body, settings).eval()


def inputs_of(body: ModelFolder, settings: ArchitectureSettings, examples: list[Example]) -> dict[str, Any]:
    """As a batch has them."""
    from rankwell.models.learning.pair_batches import TokenisedPairs

    kind = settings.architecture
    rows = ExampleTokens(kind, Tokenizer(body.tokenizer_file), 32, None)(examples)
    bounds = np.cumsum([0, *(len(row.ids) for row in rows)])
    nothing = np.zeros(len(rows))
    pairs = TokenisedPairs(
        nothing.astype(np.float32),
        nothing.astype(np.int64),
        [],
        [],
        np.concatenate([row.ids for row in rows]).astype(np.int32),
        np.concatenate([row.types for row in rows]).astype(np.int8),
        bounds,
    )
    return ExampleBatches(pairs, 0, segments=True, count=len(kind.inputs)).inputs(np.arange(len(rows)))


@pytest.mark.parametrize(("kind", "shared", "freeze"), ALL_WAYS)
def test_onnx_gives_what_torch_gives(body: ModelFolder, kind: str, shared: bool, freeze: str, tmp_path: Path) -> None:
    import torch

    settings = replace(QUICK, kind=kind, shared=shared, freeze=freeze)
    model = made(body, settings)
    write_architecture(model, tmp_path, body, settings)
    with torch.inference_mode():
        ours = model(**inputs_of(body, settings, EXAMPLES)).logits.numpy()
    scorer = ArchitectureScorer(str(tmp_path), threads=1)
    found = scorer.of_examples(EXAMPLES)
    assert np.abs(found - ours).max() < 1e-4
    assert np.ptp(ours) > 1e-4  # they are not all alike
    assert scorer.probabilities(found) == pytest.approx(1 / (1 + np.exp(-found)), abs=1e-6)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_neither_padding_nor_the_order_of_a_batch_changes_a_logit(body: ModelFolder, kind: str) -> None:
    import torch

    settings = replace(QUICK, kind=kind)
    model = made(body, settings)
    with torch.inference_mode():
        together = model(**inputs_of(body, settings, EXAMPLES)).logits
        backwards = model(**inputs_of(body, settings, EXAMPLES[::-1])).logits
        alone = torch.cat([model(**inputs_of(body, settings, [one])).logits for one in EXAMPLES])
    assert torch.allclose(together, alone, atol=1e-5)
    assert torch.allclose(together, backwards.flip(0), atol=1e-5)


@pytest.mark.parametrize("kind", ARCHITECTURES)
@pytest.mark.parametrize("shared", [False, True])
def test_gradients_reach_every_encoder_unless_it_is_frozen(body: ModelFolder, kind: str, shared: bool) -> None:
    for freeze, reached in (("none", True), ("head", False)):
        settings = replace(QUICK, kind=kind, shared=shared, freeze=freeze)
        model = made(body, settings).train()
        model(**inputs_of(body, settings, EXAMPLES)).logits.sum().backward()
        for encoder in model.encoders.values():
            gradients = [weights.grad for weights in encoder.parameters()]
            assert all((gradient is not None) == reached for gradient in gradients)
            assert not reached or all(gradient.abs().sum() > 0 for gradient in gradients if gradient.ndim > 1)
            assert encoder.training == reached  # a frozen one gives the same vectors each time
        assert all(weights.grad is not None for weights in model.head.parameters())


def test_separate_encoders_are_several_and_a_shared_one_is_one(body: ModelFolder) -> None:
    apart, together = (made(body, replace(QUICK, kind="representation", shared=shared)) for shared in (False, True))
    assert list(apart.encoders) == ["query", "title", "abstract"]
    assert list(together.encoders) == ["encoder"]
    assert apart.encoder("query") is not apart.encoder("title")
    assert together.encoder("query") is together.encoder("title")
    counts = [sum(weights.numel() for weights in model.encoders.parameters()) for model in (apart, together)]
    assert counts[0] == 3 * counts[1]


def test_the_head_is_one_layer_over_a_trained_encoder_and_three_over_a_frozen_one(body: ModelFolder) -> None:
    def sizes(**changes: Any) -> list[tuple[int, ...]]:
        model = made(body, replace(QUICK, kind="dual-interaction", **changes))
        return [tuple(layer.weight.shape) for layer in model.head if hasattr(layer, "weight")]

    assert sizes() == [(1, 32)]
    assert sizes(freeze="head") == [(24, 32), (18, 24), (1, 18)]
    assert sizes(freeze="head", head_ratio=0.25) == [(8, 32), (2, 8), (1, 2)]
    with pytest.raises(ParameterError, match="head_ratio: expected a number above 0, up to 1, found 0"):
        replace(QUICK, head_ratio=0)


@pytest.mark.parametrize(
    "kind", [kind if kind == "interaction" else pytest.param(kind, marks=pytest.mark.slow) for kind in ARCHITECTURES]
)
def test_a_small_set_can_be_learnt_by_heart(body: ModelFolder, kind: str, tmp_path: Path) -> None:
    import torch

    settings = replace(QUICK, kind=kind, dropout=0.0)
    examples = ArchitectureExamples.of(review_pairs(tmp_path / "pairs", queries=3), settings, training=True)
    reading = settings.record().reading
    tokens = ExampleTokens(settings.architecture, Tokenizer(body.tokenizer_file), 32, None, reading)
    pairs = examples.tokenised(tokens)
    given = ExampleBatches(pairs, 0, segments=True, count=len(settings.architecture.inputs)).inputs(np.arange(18))
    labels = torch.from_numpy(pairs.labels)
    model = made(body, settings).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(40):
        optimizer.zero_grad()
        logits = model(**given).logits.reshape(-1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1
    assert ((logits > 0) == (labels > 0)).all()


def test_a_relevant_abstract_cannot_reorder_documents_through_one_linear_layer(body: ModelFolder) -> None:
    """What the docstring of the dual interaction says: it moves all logits of a query by the same amount."""
    import torch

    settings = replace(QUICK, kind="dual-interaction")
    model = made(body, settings)
    with torch.inference_mode():
        one, other = (
            model(**inputs_of(body, settings, [example._replace(query="flu", relevant=text) for example in EXAMPLES]))
            .logits.reshape(-1)
            .numpy()
            for text in ("fever", "moon and mirror")
        )
    assert np.ptp(one - other) < 1e-5
    assert abs(float((one - other)[0])) > 1e-5


def test_a_folder_without_a_graph_gets_one_when_it_is_loaded(
    body: ModelFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = replace(QUICK, kind="representation")
    model = made(body, settings)
    write_architecture(model, tmp_path / "with", body, settings)
    write_architecture(model, tmp_path / "without", body, replace(settings, onnx=False))
    assert not (tmp_path / "without" / "onnx").exists()
    found = [ArchitectureScorer(str(tmp_path / name), threads=1).of_examples(EXAMPLES) for name in ("with", "without")]
    assert "making an ONNX file of its weights, once" in caplog.text
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "name", "sizes"),
    [
        ("DistilBertConfig", "DistilBertModel", {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
        ("RobertaConfig", "RobertaModel", {**SMALL, "max_position_embeddings": 66, "type_vocab_size": 1}),
    ],
)
def test_other_encoders_than_bert_are_exported_through_torch(
    config: str, name: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    import torch

    body = ModelFolder("other", tiny_model(tmp_path / "body", config, name, **sizes))
    settings = replace(QUICK, kind="triple-representation")
    model = made(body, settings)
    write_architecture(model, tmp_path / "model", body, settings)
    with torch.inference_mode():
        ours = model(**inputs_of(body, settings, EXAMPLES)).logits.numpy()
    found = ArchitectureScorer(str(tmp_path / "model"), threads=1).of_examples(EXAMPLES)
    assert np.abs(found - ours).max() < 1e-4
