"""Losses of distillation against closed forms and torch's own; padding changes none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rankwell.core import ParameterError
from rankwell.models.distillation.training import LOSSES, METHODS, parse_weights, weights_of
from tiny_models import needs_torch

needs_torch()

import torch  # noqa: E402 -- only where it is installed

from rankwell.models.distillation.losses import (  # noqa: E402  # noqa: E402
    Attention,
    Compared,
    Cosine,
    Embedding,
    Hard,
    Hidden,
    Mixture,
    Soft,
    States,
    TeacherMargin,
)


def compared(logits: list[float], scores: list[float], **others: Any) -> Compared:
    """A batch without states."""
    count = len(logits)
    given: dict[str, Any] = {"labels": torch.zeros(count), "labelled": torch.ones(count, dtype=torch.bool)}
    given |= {"sizes": [count], "mask": torch.ones(count, 3, dtype=torch.long), **others}
    return Compared(torch.tensor(logits), torch.tensor(scores), **given)


def states(width: int, *, layers: int = 2, heads: int = 2, seed: int = 0, tokens: int = 3) -> States:
    """Of two pairs of three tokens, at random."""
    source = torch.Generator().manual_seed(seed)
    hidden = [torch.randn(2, tokens, width, generator=source) for _ in range(layers + 1)]
    attention = [torch.randn(2, heads, tokens, tokens, generator=source) for _ in range(2)]
    return States(torch.randn(2, 1, generator=source), hidden, attention)


def with_states(student: States, teacher: States, mask: list[list[int]], **others: Any) -> Compared:
    tensor = torch.tensor(mask)
    return compared([0.0, 0.0], [0.0, 0.0], student=student, teacher=teacher, mask=tensor, layers=(2, 4), **others)


def test_the_soft_loss_is_the_cross_entropy_of_two_classes_at_a_temperature() -> None:
    """One logit x stands for the logits 0 and x of two classes; torch's cross-entropy takes probabilities."""
    logits, scores, temperature = [0.5, -2.0, 3.0], [1.0, -4.0, 9.0], 3.0
    both = [torch.stack([torch.zeros(3), torch.tensor(values)], dim=1) for values in (logits, scores)]
    wanted = torch.softmax(both[1] / temperature, dim=1)
    expected = temperature**2 * torch.nn.functional.cross_entropy(both[0] / temperature, wanted)
    assert Soft(temperature)(compared(logits, scores)).item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_soft_loss_is_least_where_the_student_says_what_the_teacher_says() -> None:
    seen = compared([1.0, -4.0, 9.0], [1.0, -4.0, 9.0])
    seen.logits.requires_grad_()
    Soft(2.0)(seen).backward()
    assert seen.logits.grad is not None
    assert seen.logits.grad.abs().max().item() == pytest.approx(0, abs=1e-7)


def test_a_high_temperature_makes_the_soft_loss_a_squared_difference() -> None:
    """T^2 (CE(x / T) - CE(t / T)) goes to (x - t)^2 / 8 for two classes as T grows (Hinton et al., section 2.1)."""
    far, equal = (compared([student], [3.0]) for student in (-1.0, 3.0))
    one, other = (replace(seen, logits=seen.logits.double(), scores=seen.scores.double()) for seen in (far, equal))
    difference = Soft(1000.0)(one) - Soft(1000.0)(other)
    assert difference.item() == pytest.approx((3.0 + 1.0) ** 2 / 8, rel=1e-3)


def test_the_hard_loss_looks_at_pairs_with_a_label_only() -> None:
    labels, labelled = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([True, True, False])
    seen = Hard()(compared([2.0, -1.0, 50.0], [0.0, 0.0, 0.0], labels=labels, labelled=labelled))
    expected = (torch.log1p(torch.exp(torch.tensor(-2.0))) + torch.log1p(torch.exp(torch.tensor(-1.0)))) / 2
    assert seen.item() == pytest.approx(expected.item(), rel=1e-6)
    none = compared([2.0], [0.0], labels=torch.ones(1), labelled=torch.tensor([False]))
    assert Hard()(none).item() == 0


def test_the_margin_loss_compares_distances_within_a_list() -> None:
    """Two lists: margins of 1 against 3, and of 0 against 2; the documents of different lists are not compared."""
    found = TeacherMargin()(compared([2.0, 1.0, 5.0, 5.0], [4.0, 1.0, 2.0, 0.0], sizes=[2, 2]))
    assert found.item() == pytest.approx(((1 - 3) ** 2 + (0 - 2) ** 2) / 2)


def test_the_hidden_loss_is_the_mean_squared_difference_of_mapped_layers() -> None:
    student, teacher = states(4), states(4, layers=4, seed=1)
    found = Hidden()(with_states(student, teacher, [[1, 1, 1], [1, 1, 1]]))
    both = [torch.nn.functional.mse_loss(student.hidden[own], teacher.hidden[its]) for own, its in ((1, 2), (2, 4))]
    assert found.item() == pytest.approx(torch.stack(both).mean().item(), rel=1e-6)


def test_states_of_another_width_are_projected() -> None:
    student, teacher = states(2), states(4, layers=4, seed=1)
    widen = torch.nn.Linear(2, 4, bias=False)
    found = Embedding()(with_states(student, teacher, [[1, 1, 1], [1, 1, 1]], widen=widen))
    expected = torch.nn.functional.mse_loss(student.hidden[0] @ widen.weight.T, teacher.hidden[0])
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_attention_loss_is_the_mean_squared_difference_before_the_softmax() -> None:
    student, teacher = states(4), states(4, layers=4, seed=1)
    found = Attention()(with_states(student, teacher, [[1, 1, 1], [1, 1, 1]]))
    pairs = zip(student.attention, teacher.attention, strict=True)
    expected = torch.stack([torch.nn.functional.mse_loss(*pair) for pair in pairs]).mean()
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_other_numbers_of_heads_are_compared_by_their_mean() -> None:
    student, teacher = states(4, heads=1), states(4, layers=4, heads=3, seed=1)
    found = Attention()(with_states(student, teacher, [[1, 1, 1], [1, 1, 1]]))
    pairs = zip(student.attention, teacher.attention, strict=True)
    means = [(one.mean(dim=1), other.mean(dim=1)) for one, other in pairs]
    expected = torch.stack([torch.nn.functional.mse_loss(*pair) for pair in means]).mean()
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_cosine_loss_looks_at_the_direction_of_the_last_layer() -> None:
    teacher = states(4, layers=4, seed=1)
    student = states(4)
    same = States(student.logits, [*student.hidden[:-1], 7 * teacher.hidden[-1]], student.attention)
    away = States(student.logits, [*student.hidden[:-1], -teacher.hidden[-1]], student.attention)
    mask = [[1, 1, 1], [1, 1, 0]]
    assert Cosine()(with_states(same, teacher, mask)).item() == pytest.approx(0, abs=1e-6)
    assert Cosine()(with_states(away, teacher, mask)).item() == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize("loss", [Hidden(), Embedding(), Attention(), Cosine()])
def test_what_stands_in_padding_counts_nothing(loss: Any) -> None:
    student, teacher = states(4), states(4, layers=4, seed=1)
    mask = [[1, 1, 1], [1, 1, 0]]
    before = loss(with_states(student, teacher, mask))
    for state in (student, teacher):
        for hidden in state.hidden:
            hidden[1, 2] = 1e3 * torch.randn(4)
        for scores in state.attention:
            scores[1, :, 2, :] = 1e3
            scores[1, :, :, 2] = -1e3
    assert loss(with_states(student, teacher, mask)).item() == pytest.approx(before.item(), rel=1e-6)


def test_a_mixture_is_the_sum_of_its_weighed_losses() -> None:
    seen = compared([2.0, 1.0], [4.0, 1.0], labels=torch.tensor([1.0, 0.0]))
    mixture = Mixture.of({"soft": 2.0, "hard": 0.5, "margin": 3.0}, temperature=4.0)
    expected = 2 * Soft(4.0)(seen) + 0.5 * Hard()(seen) + 3 * TeacherMargin()(seen)
    assert mixture(seen).item() == pytest.approx(expected.item(), rel=1e-6)
    assert mixture.lists
    assert not mixture.inside


@pytest.mark.parametrize(
    ("method", "changes", "expected"),
    [
        ("soft", {}, {"soft": 1.0}),
        ("soft", {"soft": 0.0, "hard": 1.0}, {"hard": 1.0}),
        ("tinybert", {"attention": 0.0}, {"embedding": 1.0, "hidden": 1.0, "soft": 1.0, "hard": 1.0}),
        ("margin-mse", {"soft": 0.5}, {"margin": 1.0, "soft": 0.5}),
    ],
)
def test_weights_change_a_method(method: str, changes: Mapping[str, float], expected: Mapping[str, float]) -> None:
    assert weights_of(method, changes) == expected


def test_every_method_is_made_of_losses_that_there_are() -> None:
    for method in METHODS:
        assert Mixture.of(weights_of(method, {}), 1.0).parts
    assert [loss.name for _, loss in Mixture.of(dict.fromkeys(LOSSES, 1.0), 1.0).parts] == list(LOSSES)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("soft", "weights: expected losses with numbers"),
        ("soft=much", "weights: expected losses with numbers"),
        ("sift=1", "weights: expected losses among embedding"),
        ("soft=-1", "weights: expected numbers from 0"),
        ("soft=0", "weights: expected a loss with a weight above 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused(told: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        weights_of("soft", parse_weights(told))


def test_an_unknown_method_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ParameterError, match="method: expected one of tinybert, soft, margin-mse, distilbert"):
        weights_of("osmosis", {})
