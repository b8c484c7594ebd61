"""Masking: rates as promised, special tokens never, and nothing but seed, epoch and row decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked_models import VOCABULARY, write_model

from needs import require_train
from rankwell.core import ParameterError
from rankwell.core.arrays import Integers
from rankwell.models.language_model.masking import IGNORED, REPLACEMENTS, MaskedTokens, Masker, Replacement
from rankwell.models.language_model.texts import MaskedRows, PackedTexts

TOKENS = MaskedTokens(1000, 4, frozenset(range(5)))
LONG = np.random.default_rng(1).integers(5, 1000, 200_000)


def within(count: int, of: int, probability: float) -> bool:
    """Whether a count is less than five standard deviations from what its probability lets one expect."""
    return abs(count - of * probability) < 5 * np.sqrt(of * probability * (1 - probability))


def masked(masker: Masker, ids: Integers = LONG, seed: int = 0) -> tuple[Integers, Integers]:
    return masker(ids, np.random.default_rng(seed))


@pytest.mark.parametrize("probability", [0.05, 0.15, 0.4])
def test_so_many_tokens_are_chosen_as_the_probability_says(probability: float) -> None:
    _, labels = masked(Masker(TOKENS, probability))
    assert within(int((labels != IGNORED).sum()), len(LONG), probability)


@pytest.mark.parametrize(("name", "mask", "random"), [("bert", 0.8, 0.1), ("all-mask", 1.0, 0.0)])
def test_chosen_tokens_become_mask_random_or_stay_as_the_rule_says(name: str, mask: float, random: float) -> None:
    inputs, labels = masked(Masker(TOKENS, 0.15, REPLACEMENTS[name]))
    chosen = labels != IGNORED
    hidden, kept = inputs[chosen] == TOKENS.mask, inputs[chosen] == labels[chosen]
    others = int((~hidden & ~kept).sum())
    total = int(chosen.sum())
    assert within(int(hidden.sum()), total, mask) or (mask == 1.0 and hidden.all())
    # A random token is the right one in one of 995 cases.
    assert within(others, total, random * 994 / 995) or (random == 0.0 and not others)
    assert (inputs[~chosen] == LONG[~chosen]).all()
    assert (labels[chosen] == LONG[chosen]).all()


def test_rates_are_those_of_transformers_collator(tmp_path: Path) -> None:
    require_train()
    import torch
    from transformers import AutoTokenizer, DataCollatorForLanguageModeling

    tokenizer = AutoTokenizer.from_pretrained(write_model(tmp_path))
    ids = np.random.default_rng(2).integers(5, len(VOCABULARY), 60_000)
    collator = DataCollatorForLanguageModeling(tokenizer, seed=3)
    theirs, guessed = collator.torch_mask_tokens(torch.tensor(ids)[None], torch.zeros(1, len(ids)))
    inputs, labels = masked(Masker(MaskedTokens(len(VOCABULARY), 4, frozenset(range(5)))), ids)
    for ours, other in (
        (labels != IGNORED, guessed[0].numpy() != IGNORED),
        (inputs == 4, theirs[0].numpy() == 4),
    ):
        rate = other.mean()
        assert within(int(ours.sum()), 2 * len(ids), rate / 2)  # both are drawn: twice the variance


def test_random_tokens_are_uniform_or_follow_frequencies() -> None:
    everything = Replacement(0.0, 1.0)
    uniform, labels = masked(Masker(TOKENS, 0.5, everything))
    drawn = uniform[labels != IGNORED]
    assert within(int((drawn < 500).sum()), len(drawn), 495 / 995)
    frequencies = np.zeros(1000)
    frequencies[[3, 10, 20]] = 50, 30, 10  # 3 is special
    inputs, labels = masked(Masker(TOKENS, 0.5, everything, frequencies=frequencies))
    drawn = inputs[labels != IGNORED]
    assert set(drawn.tolist()) == {10, 20}
    assert within(int((drawn == 10).sum()), len(drawn), 0.75)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(0, 5), st.booleans())
def test_special_tokens_are_neither_chosen_nor_put_in(ids: list[int], seed: int, whole: bool) -> None:
    masker = Masker(MaskedTokens(31, 4, frozenset(range(5))), 0.5, whole_words=whole)
    given_ids = np.array(ids)
    inputs, labels = masker(given_ids, np.random.default_rng(seed), np.ones(len(ids), dtype=np.bool_))
    special = given_ids < 5
    assert (inputs[special] == given_ids[special]).all()
    assert (labels[special] == IGNORED).all()
    assert set(inputs[inputs != given_ids].tolist()) <= {4, *range(5, 31)}
    assert (labels != IGNORED).any() == (~special).any()  # something to guess wherever there can be


def test_whole_words_are_chosen_with_all_of_their_tokens() -> None:
    starts = np.random.default_rng(3).random(len(LONG)) < 0.6
    starts[0] = True
    masker = Masker(TOKENS, 0.15, whole_words=True)
    _, labels = masker(LONG, np.random.default_rng(0), starts)
    words = np.cumsum(starts) - 1
    chosen = np.bincount(words, labels != IGNORED)
    assert set(np.unique(chosen / np.bincount(words))) == {0.0, 1.0}
    assert within(int((chosen > 0).sum()), len(chosen), 0.15)


def test_small_integers_are_not_wrapped() -> None:
    _, labels = masked(Masker(TOKENS), LONG.astype(np.uint16))
    assert set(np.unique(labels)) <= {IGNORED, *range(5, 1000)}


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1])
def test_a_probability_that_cannot_be_is_refused(probability: float) -> None:
    with pytest.raises(ParameterError, match="mask probability: expected a number between 0 and 1"):
        Masker(TOKENS, probability)


def rows() -> PackedTexts:
    ids = np.random.default_rng(4).integers(5, 1000, (6, 50))
    return PackedTexts(ids, np.ones_like(ids, dtype=np.bool_), 6, 300, 0)


def test_masks_are_new_each_epoch_and_the_same_in_the_same_one() -> None:
    first, second = (MaskedRows(rows(), Masker(TOKENS), seed=7) for _ in range(2))
    second.set_epoch(1)
    assert any((first[n].labels != second[n].labels).any() for n in range(6))
    second.set_epoch(0)
    backwards = {n: second[n] for n in reversed(range(6))}  # in another order, as after a resumption
    assert all((first[n].inputs == backwards[n].inputs).all() for n in range(6))
    assert all((first[n].labels == backwards[n].labels).all() for n in range(6))


def test_another_seed_gives_other_masks() -> None:
    one, other = (MaskedRows(rows(), Masker(TOKENS), seed=seed) for seed in (7, 8))
    assert any((one[n].labels != other[n].labels).any() for n in range(6))
