from __future__ import annotations

import pytest

from rankwell.analysis import STOPWORDS, Analyzer


def test_the_lists_have_their_sizes() -> None:
    assert {name: len(words) for name, words in STOPWORDS.items()} == {"lucene": 33, "nltk": 179, "none": 0, "s0": 114}


@pytest.mark.parametrize(("name", "word"), [("lucene", "such"), ("nltk", "mightn't"), ("s0", "youre")])
def test_a_listed_word_is_left_out(name: str, word: str) -> None:
    assert Analyzer(stopwords=name)(f"{word.upper()} fever") == ["fever"]
    assert Analyzer(stopwords="none", stemmer=False)(word) == [word]


@pytest.mark.parametrize("name", STOPWORDS)
def test_no_word_of_a_list_becomes_a_term(name: str) -> None:
    assert Analyzer(stopwords=name)(" ".join(sorted(STOPWORDS[name]))) == []


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_stop_words_match_either_apostrophe(apostrophe: str) -> None:
    text = f"don{apostrophe}t it{apostrophe}s fever"
    assert Analyzer(stopwords="nltk")(text) == ["fever"]
    assert Analyzer(stopwords=("don\u2019t", "it's"))(text) == ["fever"]


def test_what_is_left_of_a_possessive_can_be_a_stop_word() -> None:
    assert Analyzer(stopwords="lucene")("it's that's fever's") == ["fever"]


def test_where_apostrophes_separate_the_parts_are_looked_up() -> None:
    assert Analyzer("none", stopwords="nltk")("don't, it's") == []


def test_own_words_are_compared_as_tokens_are() -> None:
    assert Analyzer("french", stopwords=("L'", "E\u0301te\u0301"), stemmer=False)("l'été là") == ["là"]


def test_only_english_has_a_list_unless_asked() -> None:
    assert Analyzer("german")("the in") == ["the", "in"]
