"""Gestalt similarity: Python's difflib is the second implementation, and the values are the same to the last bit."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.reviews import gestalt


def with_difflib(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def test_the_studys_example() -> None:
    assert gestalt("farmvill", "faremvie") == 0.75


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("", "", 1.0), ("", "x", 0.0), ("x", "", 0.0), ("same", "same", 1.0), ("abc", "xyz", 0.0)],
)
def test_the_ends_of_the_scale(a: str, b: str, expected: float) -> None:
    assert gestalt(a, b) == expected == with_difflib(a, b)


def test_the_order_of_the_two_texts_matters_as_it_does_in_difflib() -> None:
    assert gestalt("tide", "diet") == with_difflib("tide", "diet") == 0.25
    assert gestalt("diet", "tide") == with_difflib("diet", "tide") == 0.5


# Few letters make many blocks of equal length, where the choice among them is what could differ.
@given(st.text("abc ", max_size=60), st.text("abc ", max_size=60))
def test_texts_of_few_letters_have_difflibs_similarity(a: str, b: str) -> None:
    assert gestalt(a, b) == with_difflib(a, b)


@pytest.mark.long
@settings(max_examples=20_000)
@given(st.text("ab", max_size=40), st.text("abc", max_size=40))
def test_very_many_texts_of_few_letters_have_difflibs_similarity(a: str, b: str) -> None:
    assert gestalt(a, b) == with_difflib(a, b)


@given(st.text(st.characters(), max_size=80), st.text(st.characters(), max_size=80))
def test_texts_of_any_characters_have_difflibs_similarity(a: str, b: str) -> None:
    assert gestalt(a, b) == with_difflib(a, b)


@given(st.data())
def test_a_title_with_small_changes_has_difflibs_similarity(data: st.DataObject) -> None:
    words = data.draw(
        st.lists(
            st.sampled_from(["the", "effect", "of", "fever", "and", "cough", "in", "children", "á", "β"]), max_size=30
        )
    )
    other = list(words)
    for _ in range(data.draw(st.integers(0, 3))):
        if other:
            other[data.draw(st.integers(0, len(other) - 1))] = data.draw(st.text("aeft", max_size=6))
    assert gestalt(" ".join(words), " ".join(other)) == with_difflib(" ".join(words), " ".join(other))


def test_characters_of_one_bucket_are_told_apart() -> None:
    a, b = "a" + chr(ord("a") + 128) * 3, chr(ord("a") + 256) * 3 + "a"
    assert gestalt(a, b) == with_difflib(a, b) == 0.25


def test_half_characters_are_characters() -> None:
    assert gestalt("a\ud800", "\ud800b") == with_difflib("a\ud800", "\ud800b") == 0.5


def test_numba_is_loaded_by_the_first_comparison_and_not_before() -> None:
    program = (
        "import sys, rankwell.reviews as r; before = 'numba' in sys.modules; r.gestalt('a', 'b'); "
        "print(before, 'numba' in sys.modules)"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # loaded, and nothing compiled
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.slow
def test_a_home_that_cannot_be_written_to_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    program = "from rankwell.reviews import gestalt; print(gestalt('farmvill', 'faremvie'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"RANKWELL_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.strip() == "0.75"
    assert "cannot be written to" in done.stderr
