from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.analysis import Analyzer

cjk = Analyzer("cjk")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("東京都", ["東京", "京都"]),
        ("日", ["日"]),
        ("日。本", ["日", "本"]),
        ("ラーメンを食べる", ["ラー", "ーメ", "メン", "ンを", "を食", "食べ", "べる"]),
        ("한국어 검색", ["한국", "국어", "검색"]),
        ("BM25は検索running", ["bm25", "は検", "検索", "running"]),
        ("\uff22\uff2d\uff12\uff15 ﾊﾞｽ", ["bm25", "バス"]),
        ("don't", ["don", "t"]),
        ("русский 你好 العربية", ["русский", "你好", "العربية"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("セ\u309aト", ["セ\u309aト"]),
        ("a\u3099", ["a"]),
    ],
)
def test_cjk_terms(text: str, terms: list[str]) -> None:
    assert cjk(text) == terms


def test_bigrams_know_their_places() -> None:
    assert cjk.positions("IR: 東京都") == [("ir", 0, 0, 2), ("東京", 1, 4, 6), ("京都", 2, 5, 7)]


def test_a_syllable_written_with_letters_keeps_its_offsets() -> None:
    text = normalize("NFD", "한국어")
    assert cjk.positions(text) == [("한국", 0, 0, 6), ("국어", 1, 3, 8)]


@given(st.text("東京都가각힣がガぱパーa b", max_size=30))
def test_composed_and_decomposed_text_give_the_same_terms(text: str) -> None:
    assert cjk(normalize("NFD", text)) == cjk(text)


def test_cjk_stop_words_are_left_out() -> None:
    assert Analyzer("cjk", stopwords=("的", "我们", "the"))("我们的 the 的") == ["们的"]
