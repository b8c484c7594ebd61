from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.analysis import clean as clean_text
from rankwell.analysis.clean import drop_line_breaks, drop_links, drop_numbers, drop_stopwords, lemma, lemmatise_words
from rankwell.core import MissingExtraError


def test_line_breaks_become_spaces() -> None:
    assert drop_line_breaks("one\r\ntwo\n\n three\u2028four") == "one two three four"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https://example.org/a?b=1#c.", "see ."),
        ("(http://example.org) and WWW.example.org/x, too", "() and , too"),
        ("ftp://example.org", ""),
        ("awww. no", "awww. no"),
    ],
)
def test_links_are_dropped(text: str, left: str) -> None:
    assert drop_links(text) == left


def test_stop_words_are_dropped_wherever_punctuation_stands() -> None:
    assert drop_stopwords("the fever, the: don't don\u2019t The theory") == " fever, :    theory"


def test_own_stop_words_can_be_given() -> None:
    assert drop_stopwords("the fever", {"fever"}) == "the "


@pytest.mark.parametrize("number", ["7", "1,200.50", "12%", "-3", "2020", "10:30", "\u0663"])
def test_numbers_are_dropped(number: str) -> None:
    assert drop_numbers(f"a {number} b ({number})") == "a  b ()"


@pytest.mark.parametrize("word", ["covid-19", "il-6", "h1n1", "5-year", "b12", "3d"])
def test_words_with_digits_are_kept(word: str) -> None:
    assert drop_numbers(f"{word} trial") == f"{word} trial"


def test_words_become_lemmas_and_punctuation_stays() -> None:
    assert lemmatise_words("studies, mice!") == "study, mouse!"
    assert lemma("were") == "be"


def test_a_lemmatiser_of_ones_own_is_used() -> None:
    assert clean_text("Some fevers", lemmatise=lambda word: word[:3]) == "fev"


def test_cleaning_does_all_steps() -> None:
    text = "The patients\nWERE treated in 2020 (see https://example.org/x), and COVID-19 studies don\u2019t agree."
    assert clean_text(text) == "patient treat (see ), covid-19 study agree."
    assert clean_text(text, lemmatise=None) == "patients treated (see ), covid-19 studies agree."


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_cleaned_to_one_lower_case_line(text: str) -> None:
    cleaned = clean_text(text, lemmatise=None)
    assert cleaned == cleaned.lower() == " ".join(cleaned.split())


def test_without_simplemma_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["rankwell.analysis.clean"]
    module._simplemma.cache_clear()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtraError, match=r"rankwell\[lemmas\]"):
        clean_text("fevers")
    module._simplemma.cache_clear()
