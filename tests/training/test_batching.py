"""Which examples meet in a batch."""

from __future__ import annotations

import pytest

from tiny_models import needs_torch

needs_torch()

from rankwell.models.learning.hugging_face import EpochSampler  # noqa: E402 -- after the line that skips where torch is missing

LENGTHS = [place % 50 for place in range(403)]


def order(epoch: int, *, seed: int = 1, lengths: list[int] | None = LENGTHS) -> list[int]:
    sampler = EpochSampler(403, seed=seed, lengths=lengths, batch_size=8)
    sampler.set_epoch(epoch)
    return list(sampler)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_every_example_comes_once_an_epoch(lengths: list[int] | None) -> None:
    assert sorted(order(0, lengths=lengths)) == list(range(403))


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_the_order_is_a_function_of_seed_and_epoch(lengths: list[int] | None) -> None:
    assert order(3, lengths=lengths) == order(3, lengths=lengths)
    assert order(3, lengths=lengths) != order(4, lengths=lengths)
    assert order(3, lengths=lengths) != order(3, seed=2, lengths=lengths)


def padding(places: list[int]) -> int:
    batches = [[LENGTHS[place] for place in places[start : start + 8]] for start in range(0, len(places), 8)]
    return sum(max(batch) * len(batch) - sum(batch) for batch in batches)


def test_batches_of_similar_lengths_have_little_padding() -> None:
    assert padding(order(0)) < padding(order(0, lengths=None)) / 4


def test_long_batches_are_not_all_at_the_beginning() -> None:
    found = [LENGTHS[place] for place in order(0)]
    assert abs(sum(found[:200]) - sum(found[-200:])) < sum(found) / 4


def test_torchs_own_random_numbers_are_left_alone() -> None:
    import torch

    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    order(0)
    assert torch.equal(torch.rand(1), expected)
