"""Losses against their formulas, and against the library's own on a real model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwell.core import ParameterError
from tiny_models import needs_torch, tiny_bert

needs_torch()

import torch  # noqa: E402 -- after the line that skips where it is not installed

from rankwell.models.learning.losses import LOSSES, Margin, loss_named  # noqa: E402

LOGITS = torch.tensor([2.0, -1.0, 0.5, 0.3, 1.1])
LABELS = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0])
SIZES = [3, 2]  # two queries: one with three documents, one with two


def value(name: str, logits: Any = LOGITS, labels: Any = LABELS, sizes: list[int] = SIZES) -> float:
    return float(loss_named(name)(logits, labels, sizes))


def softmax(values: list[float]) -> list[float]:
    total = sum(map(math.exp, values))
    return [math.exp(value) / total for value in values]


def test_binary_cross_entropy_is_its_formula() -> None:
    probabilities = [1 / (1 + math.exp(-x)) for x in LOGITS.tolist()]
    expected = [-math.log(p if y else 1 - p) for p, y in zip(probabilities, LABELS.tolist(), strict=True)]
    assert value("bce") == pytest.approx(np.mean(expected))


def test_ranknet_is_its_formula() -> None:
    differences = [2.0 - -1.0, 2.0 - 0.5, 1.1 - 0.3]
    assert value("ranknet") == pytest.approx(np.mean([math.log2(1 + math.exp(-x)) for x in differences]))


def test_margin_is_its_formula() -> None:
    differences = [3.0, 1.5, 0.8]
    assert value("margin") == pytest.approx(np.mean([max(0.0, 1 - x) for x in differences]))
    assert float(Margin(margin=2.0)(LOGITS, LABELS, SIZES)) == pytest.approx(np.mean([0.0, 0.5, 1.2]))


def test_margin_mse_is_its_formula() -> None:
    labels = torch.tensor([3.0, 0.5, 1.0, -1.0, 2.0])
    expected = [(3.0 - 2.5) ** 2, (1.5 - 2.0) ** 2, (1.5 - 0.5) ** 2, (0.8 - 3.0) ** 2]
    assert value("margin-mse", labels=labels) == pytest.approx(np.mean(expected))


def test_listnet_is_its_formula() -> None:
    per_query = []
    for span in (slice(0, 3), slice(3, 5)):
        wanted, found = softmax(LABELS[span].tolist()), softmax(LOGITS[span].tolist())
        per_query.append(-sum(w * math.log(f) for w, f in zip(wanted, found, strict=True)))
    assert value("listnet") == pytest.approx(np.mean(per_query))


def test_softmax_is_its_formula_and_skips_queries_without_anything_relevant() -> None:
    first = -math.log(softmax([2.0, -1.0, 0.5])[0])
    second = -math.log(softmax([0.3, 1.1])[1])
    assert value("softmax") == pytest.approx((first + second) / 2)
    assert value("softmax", labels=torch.tensor([1.0, 0, 0, 0, 0])) == pytest.approx(first)


def test_lambda_is_its_formula_for_two_documents() -> None:
    """With one relevant document of two, nDCG falls from 1 to 1 / log2(3) when they are exchanged."""
    x = 0.8
    delta = 1 - 1 / math.log2(3)
    bound = delta  # NDCG-Loss2's discounts at distance one are the same two
    expected = (10 * bound + delta) * math.log2(1 + math.exp(-x))
    assert value("lambda", torch.tensor([0.3, 1.1]), torch.tensor([0.0, 1.0]), [2]) == pytest.approx(expected)


@pytest.mark.parametrize("name", LOSSES)
def test_a_better_ranking_has_a_lower_loss(name: str) -> None:
    labels = LABELS * 4 - 2 if name == "margin-mse" else LABELS
    good, bad = torch.tensor([2.0, -2, -2, -2, 2]), torch.tensor([-2.0, 2, 2, 2, -2])
    assert value(name, good, labels) < value(name, bad, labels)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_a_gradient_for_every_document(name: str) -> None:
    logits = (LOGITS / 4).requires_grad_()  # within the margin
    loss_named(name)(logits, LABELS, SIZES).backward()
    assert logits.grad is not None
    assert bool((logits.grad != 0).all())


@pytest.mark.parametrize("name", ["ranknet", "listnet", "lambda"])
def test_losses_over_lists_equal_the_library_running_a_model_of_its_own(name: str, tmp_path: Path) -> None:
    from sentence_transformers.cross_encoder import CrossEncoder, losses

    folder = tiny_bert(tmp_path / "model", head="BertForSequenceClassification", num_labels=1)
    model = CrossEncoder(str(folder), num_labels=1, device="cpu", local_files_only=True)
    model.eval()
    theirs = {"ranknet": losses.RankNetLoss, "listnet": losses.ListNetLoss, "lambda": losses.LambdaLoss}[name](model)
    queries, documents = ["fever", "bees"], [["cough", "honey and bees", "night"], ["honey", "salt"]]
    texts = [(query, text) for query, of_query in zip(queries, documents, strict=True) for text in of_query]
    with torch.inference_mode():
        logits = model(model.preprocess(texts))["scores"].view(-1)
        expected = theirs([queries, documents], list(LABELS.split(SIZES)))
    assert value(name, logits) == pytest.approx(float(expected), rel=1e-5)


def test_margin_mse_equals_the_library_on_triples(tmp_path: Path) -> None:
    from sentence_transformers.cross_encoder import CrossEncoder, losses

    folder = tiny_bert(tmp_path / "model", head="BertForSequenceClassification", num_labels=1)
    model = CrossEncoder(str(folder), num_labels=1, device="cpu", local_files_only=True)
    model.eval()
    queries, better, worse = ["fever", "bees"], ["cough", "honey"], ["night", "salt"]
    labels = torch.tensor([[3.0, 1.0], [2.5, 2.0]])
    with torch.inference_mode():
        expected = losses.MarginMSELoss(model)([queries, better, worse], list(labels))
        texts = [
            pair for one in zip(queries, better, worse, strict=True) for pair in ((one[0], one[1]), (one[0], one[2]))
        ]
        logits = model(model.preprocess(texts))["scores"].view(-1)
    assert value("margin-mse", logits, labels.reshape(-1), [2, 2]) == pytest.approx(float(expected), rel=1e-5)


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(ParameterError, match="expected one of bce, ranknet"):
        loss_named("mse")
