"""Tokenising against an obvious implementation that goes character by character."""

from __future__ import annotations

from unicodedata import category, name, normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankwell.analysis import Analyzer

AWKWARD = (
    "ab sS57.,'\u2019-_=\u0301\u0338\u0323\u00ad\u200b\u200d\ufe0f\u00b2İΣςẞJ\u030cé"
    "\u0345ᄀ\u1161\u11a8हिक्\u0660😀❤\x00\ud800\ue000"
)
texts = st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=())))

tokens = {
    "english": Analyzer("english", stopwords="none", stemmer=False),
    "none": Analyzer("none"),
}


def is_invisible(char: str) -> bool:
    return (category(char) == "Cf" and char != "\u200b") or name(char, "").startswith("VARIATION SELECTOR")


def is_word(char: str) -> bool:
    return category(char)[0] in "LMN"


def joins(before: str, after: str) -> bool:
    """Whether an apostrophe between these two texts belongs to a word."""
    if not (before and is_word(before[-1]) and after and is_word(after[0]) and after[0] not in "0123456789"):
        return False
    possessive = after[0] == "s" and (len(after) == 1 or not is_word(after[1]))
    return before[-1] not in "0123456789" or possessive


def in_number(text: str, at: int) -> bool:
    """Whether the sign at this place stands between two digits."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] in ".," and len(around) == 2 and set(around) <= set("0123456789")


def reference(text: str, *, english: bool) -> list[str]:
    lowered = "".join(char.lower() for char in text if not is_invisible(char))
    text = normalize("NFC", lowered).replace("ς", "\u03c3")
    found = [""]
    for at, char in enumerate(text):
        token = found[-1]
        if category(char)[0] in "LN" or (category(char)[0] == "M" and token):
            found[-1] += char
        elif english and char in "'\u2019" and token and joins(text[:at], text[at + 1 :]):
            found[-1] += "'"
        elif in_number(text, at):
            found[-1] += char
        else:
            found.append("")
    return [token.removesuffix("'s") if english else token for token in found if token]


@given(texts)
@example("don\u2019t dog's 5'UTR covid-19's a''b 'quoted' rock'n'roll dogs' 's")
@example("0.5 1,000.25 v1.2.3b 1..2 .5 5. 1.,2 3.5's 1\u00ad.\u200d5 1\u0301.5 1.5.x5.5")
@example("=\u0338's a=\u0338'b \u0301a a'\u0301b")
def test_english_tokens_equal_the_reference(text: str) -> None:
    assert tokens["english"](text) == reference(text, english=True)


@given(texts)
def test_tokens_of_other_languages_equal_the_reference(text: str) -> None:
    assert tokens["none"](text) == reference(text, english=False)


@given(st.lists(st.integers(0x80, 0x10FFFF).map(chr), min_size=80, max_size=140, unique=True))
def test_a_text_of_very_many_characters_equals_the_reference(chars: list[str]) -> None:
    text = "a".join(chars)
    assert tokens["english"](text) == reference(text, english=True)


@given(texts, st.sampled_from(["NFC", "NFD"]))
def test_composed_and_decomposed_text_give_the_same_tokens(text: str, form: str) -> None:
    visible = "".join(char for char in text if not is_invisible(char))
    assert tokens["none"](normalize(form, visible)) == tokens["none"](visible)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("check_output, re-rank", ["check", "output", "re", "rank"]),
        ("Don't DON\u2019T", ["don't", "don't"]),
        ("the dog's, the dogs' and O\u2019Reilly\u2019s", ["the", "dog", "the", "dogs", "and", "o'reilly"]),
        ("COVID-19's 5'UTR 5'-3'", ["covid", "19", "5", "utr", "5", "3"]),
        ("0.5 mg, v1.2 (1,000 of 3.11.4).", ["0.5", "mg", "v1.2", "1,000", "of", "3.11.4"]),
        ("1. 2, .5 1..2 U.S. e.g.5", ["1", "2", "5", "1", "2", "u", "s", "e", "g", "5"]),
        ("'quoted' \u2018words\u2019 a''b", ["quoted", "words", "a", "b"]),
        ("infec\u00adtion", ["infection"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("العَرَبِيّة", ["العَرَبِيّة"]),
        ("I ❤️ IR 😀", ["i", "ir"]),
        ("e\u0301te\u0301", ["été"]),
        ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
    ],
)
def test_english_tokens(text: str, expected: list[str]) -> None:
    assert tokens["english"](text) == expected


def test_an_apostrophe_separates_in_other_languages() -> None:
    assert Analyzer("french", stemmer=False)("l'hôpital d\u2019Orsay") == ["l", "hôpital", "d", "orsay"]


def test_turkish_has_two_letters_i() -> None:
    assert Analyzer("turkish", stemmer=False)("ISPARTA Isparta İzmir izmir") == ["\u0131sparta"] * 2 + ["izmir"] * 2


@pytest.mark.parametrize("language", ["english", "turkish", "german", "cjk", "none"])
def test_a_number_is_one_token_in_every_language(language: str) -> None:
    assert Analyzer(language)("1.5 naïve 10,000") == ["1.5", *Analyzer(language)("naïve"), "10,000"]


def test_full_width_numbers_are_those_of_ascii() -> None:
    assert Analyzer("cjk")("\uff13\uff0e\uff11\uff14円\uff0c\uff11\uff0c\uff10\uff10\uff10") == ["3.14", "円", "1,000"]


def test_a_token_is_cut_to_255_characters() -> None:
    assert [len(token) for token in tokens["english"](f"{'x' * 255} {'x' * 256} {'é' * 3000}")] == [255, 255, 255]
