"""Perturbations: small changes of texts, each as often as its probability says."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.analysis import STOPWORDS
from rankwell.core import ParameterError
from rankwell.training.self_supervised import (
    PERTURBATIONS,
    TITLE,
    Perturbation,
    parse_perturbations,
    perturbed,
    piece,
    shuffled,
    without_stop_words,
)

words = st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Z", "C"]), min_size=1), max_size=40)
seeds = st.integers(0, 2**32)
CHANCE = random.Random(0)  # noqa: S311
LONG = " ".join(f"the word{number}" for number in range(30))  # every perturbation changes it


def test_s0_has_these_probabilities() -> None:
    assert [(p.family, p.part, p.probability) for p in PERTURBATIONS] == [
        ("short", "title", 0.2),
        ("short", "abstract", 0.3),
        ("stopwords", "title", 0.4),
        ("shuffle", "title", 0.2),
    ]


@given(words, seeds, st.integers(1, 10))
def test_a_piece_is_a_shorter_run_of_neighbouring_words(text: list[str], seed: int, shortest: int) -> None:
    found = piece(" ".join(text), random.Random(seed), shortest).split()  # noqa: S311
    if len(text) <= shortest:
        assert found == text
    else:
        assert shortest <= len(found) < len(text)
        assert any(text[start : start + len(found)] == found for start in range(len(text)))


def test_every_length_and_place_of_a_piece_can_come() -> None:
    found = {piece("a b c d", CHANCE) for _ in range(500)}
    assert found == {"a", "b", "c", "d", "a b", "b c", "c d", "a b c", "b c d"}


@given(words, seeds)
def test_shuffling_keeps_the_words(text: list[str], seed: int) -> None:
    assert sorted(shuffled(" ".join(text), random.Random(seed)).split()) == sorted(text)  # noqa: S311


@given(st.lists(st.sampled_from([*sorted(STOPWORDS["s0"])[:20], "Virus", "(the)", "cells."]), min_size=1))
def test_stop_words_go_and_others_stay_in_order(text: list[str]) -> None:
    found = without_stop_words(" ".join(text), CHANCE).split()
    others = [word for word in text if word in ("Virus", "cells.")]
    assert found == (others or text)


def test_stop_words_are_known_by_their_letters() -> None:
    assert without_stop_words("The virus, and “what” is known.", CHANCE) == "virus, known."


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: f"{p.family} {p.part}")
def test_rates_match_probabilities(perturbation: Perturbation) -> None:
    trials, probability = 5000, perturbation.probability
    changed = sum(
        perturbation(LONG, random.Random(f"3/{number}")) != LONG  # noqa: S311
        for number in range(trials)
    )
    five_sigma = 5 * math.sqrt(trials * probability * (1 - probability))
    assert abs(changed - trials * probability) < five_sigma


def test_only_perturbations_of_the_part_are_made() -> None:
    always = [Perturbation("shuffle", "abstract", 1.0, lambda *_: "changed")]
    assert perturbed("text", TITLE, always, CHANCE) == "text"
    assert perturbed("text", "abstract", always, CHANCE) == "changed"


def test_families_are_chosen_by_name() -> None:
    assert parse_perturbations("all") == PERTURBATIONS
    assert parse_perturbations("none") == ()
    assert [p.family for p in parse_perturbations("shuffle, short")] == ["short", "short", "shuffle"]
    assert [p.probability for p in parse_perturbations("stopwords=0.5,shuffle")] == [0.5, 0.2]


def test_titles_and_abstracts_have_rates_of_their_own() -> None:
    parsed = parse_perturbations("short,short:abstract=0.7,stopwords:abstract=0.1,shuffle=0")
    rates = [(p.family, p.part, p.probability) for p in parsed]
    assert rates == [("short", "title", 0.2), ("short", "abstract", 0.7), ("stopwords", "abstract", 0.1)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "shorter",
            (
                "perturb: expected all, none, or some of short, stopwords, shuffle, for one part as in short:title, "
                'found "shorter"'
            ),
        ),
        ("short:abstract", 'perturb: expected a probability, as in short:abstract=0.4, found "short:abstract"'),
        ("short=often", 'short: expected a probability from 0 to 1, found "often"'),
        ("short=2", "short: expected a probability from 0 to 1, found 2.0"),
    ],
)
def test_unknown_names_and_probabilities_are_refused(text: str, told: str) -> None:
    with pytest.raises(ParameterError) as error:
        parse_perturbations(text)
    assert str(error.value) == told
