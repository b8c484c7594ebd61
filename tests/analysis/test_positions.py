from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.analysis import Analyzer

AWKWARD = "ab theS57.,'\u2019-\u0301\u00ad\u200d\ufe0fİIΣςé日本ｱﾞがか\u3099か\u309aᄀ\u1161\u11a8각\uff21X\ud800"
texts = st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=())))
analyzers = st.sampled_from(
    [
        Analyzer(),
        Analyzer(stopwords="nltk", stemmer="porter"),
        Analyzer("turkish"),
        Analyzer("cjk", stopwords=("the", "日本")),
        Analyzer("none"),
    ]
)


@given(texts, analyzers)
def test_positions_have_the_terms_of_a_call(text: str, analyzer: Analyzer) -> None:
    assert [term for term, *_ in analyzer.positions(text)] == analyzer(text)


@given(texts, analyzers)
def test_what_stands_at_the_offsets_gives_the_term(text: str, analyzer: Analyzer) -> None:
    for term, _, start, end in analyzer.positions(text):
        assert analyzer(text[start:end]) == [term]


@given(texts, analyzers)
def test_positions_rise(text: str, analyzer: Analyzer) -> None:
    positions = [position for _, position, _, _ in analyzer.positions(text)]
    assert positions == sorted(set(positions))


def test_stop_words_leave_a_gap() -> None:
    assert Analyzer().positions("King of the hill") == [("king", 0, 0, 4), ("hill", 3, 12, 16)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("e\u0301te\u0301 over", ["e\u0301te\u0301", "over"]),
        ("İİ Xİ over", ["İİ", "Xİ", "over"]),
        ("infec\u00adtion\u00ad \u00ad over", ["infec\u00adtion", "over"]),
        ("0.5, 1,\u00ad000. over", ["0.5", "1,\u00ad000", "over"]),
        ("\u0301dog\u2019s over", ["dog\u2019s", "over"]),
    ],
)
def test_offsets_are_those_of_the_text_as_given(text: str, written: list[str]) -> None:
    assert [text[start:end] for _, _, start, end in Analyzer().positions(text)] == written


def test_what_is_no_word_takes_no_position() -> None:
    assert [position for _, position, _, _ in Analyzer().positions("one \u0301 ' 😀 two")] == [0, 1]
