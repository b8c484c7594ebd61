from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from rankwell.analysis import LANGUAGES, Analyzer, terms
from rankwell.core import ParameterError

VOCABULARY = {
    "english": "infections running relational generously skies dying happiness abilities conditional",
    "porter": "infections running relational generously skies dying happiness abilities conditional",
    "german": "häuser infektionen aufeinanderfolgenden größe schönsten kategorischen",
    "french": "continuellement hôpitaux majestueusement infections généralités mangeaient",
    "spanish": "cheques chicharrones enfermedades infecciones rápidamente",
    "russian": "болезнями инфекции важнейшие красивыми зараженный",
    "finnish": "edeltäjistään taloissamme tartuntatauteja",
    "arabic": "الأمراض والمدارس كتابهم",
    "hindi": "लड़कियों बीमारियों किताबें",
    "greek": "ασθένειεσ λοιμώξεισ μεγαλύτεροσ",
}


def analyzer_of(algorithm: str) -> Analyzer:
    language = "english" if algorithm == "porter" else algorithm
    return Analyzer(language, stopwords="none", stemmer=algorithm)


@pytest.mark.parametrize("algorithm", VOCABULARY)
def test_stems_equal_snowballs(algorithm: str) -> None:
    words = VOCABULARY[algorithm].split()
    stems = Stemmer.Stemmer(algorithm).stemWords(words)
    assert analyzer_of(algorithm)(" ".join(words)) == stems
    assert stems != words


@given(st.text("abcdefghiklmnoprstuvy", min_size=1, max_size=20), st.sampled_from(["english", "porter", "german"]))
def test_stems_of_any_word_equal_snowballs(word: str, algorithm: str) -> None:
    assert analyzer_of(algorithm)(word) == [Stemmer.Stemmer(algorithm).stemWord(word) or word]


@given(st.text("aceinorstuly", min_size=1, max_size=15))
def test_joining_stems_are_snowballs_but_for_tious(word: str) -> None:
    stem = Stemmer.Stemmer("english").stemWord(word)
    assert Analyzer(stopwords="none", stemmer="english")(word) == [stem]
    assert Analyzer(stopwords="none", stemmer="english+tious")(word) == [
        stem.removesuffix("i") if "tious" in word and stem[-2:] == "ti" else stem
    ]


@pytest.mark.parametrize("word", ["infection", "infections", "infectious", "infectiousness", "Infected", "INFECTIOUS"])
def test_infection_and_infectious_join_where_asked(word: str) -> None:
    assert Analyzer(stemmer="english+tious")(word) == ["infect"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_analyses_text(language: str) -> None:
    assert Analyzer(language)("xyz 2024") == ["xyz", "2024"]


def test_terms_keep_their_order_and_repeats_and_lose_stop_words() -> None:
    assert Analyzer()("The cat and the hat, the cat!") == ["cat", "hat", "cat"]


def test_stemming_can_be_left_out() -> None:
    assert Analyzer(stemmer=False)("Running cats") == Analyzer(stemmer="none")("Running cats") == ["running", "cats"]


def test_repr_is_the_configuration_in_full() -> None:
    assert repr(Analyzer()) == "Analyzer(language='english', stopwords='lucene', stemmer='porter')"
    assert repr(Analyzer("german")) == "Analyzer(language='german', stopwords='none', stemmer='german')"
    assert eval(repr(Analyzer(stopwords=("x",)))) == Analyzer(stopwords=("x",))  # noqa: S307 - our own repr


def test_analyzers_are_equal_by_their_parameters_whatever_they_have_seen() -> None:
    used, fresh = Analyzer(), Analyzer(stopwords="lucene")
    used("some words")
    assert used == fresh
    assert len({used, fresh, Analyzer("german")}) == 2


def test_a_pickled_analyzer_leaves_its_memory_behind() -> None:
    used = Analyzer(stopwords=("foo",))
    used(" ".join(f"word{i}" for i in range(1000)))
    pickled = pickle.dumps(used)
    assert len(pickled) < 200
    assert pickle.loads(pickled) == used  # noqa: S301 - written a line above


def test_an_analyzer_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Analyzer().language = "german"  # type: ignore[misc]


@pytest.mark.parametrize(
    "analyzer",
    [Analyzer(), Analyzer("cjk"), Analyzer("none"), Analyzer("german", stopwords=("und", "l'"), stemmer=False)],
)
def test_an_analyzer_comes_back_from_its_config(analyzer: Analyzer) -> None:
    assert Analyzer.from_config(json.loads(json.dumps(analyzer.config()))) == analyzer


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"language": "klingon"}, 'language: expected one of arabic, .* found "klingon"'),
        ({"language": None}, "language: .* found None"),
        ({"stopwords": "lucine"}, "stopwords: expected one of lucene, nltk, none, s0, or a tuple of words"),
        ({"stopwords": ["a"]}, "stopwords: .* found \\['a'\\]"),
        ({"stopwords": ("a", 1)}, "stopwords: .* found \\('a', 1\\)"),
        ({"stopwords": ("new york",)}, 'stopwords: expected words of one token each, found "new york"'),
        ({"stopwords": ("\u0301",)}, "stopwords: expected words of one token each"),
        ({"stemmer": "lovins"}, 'stemmer: expected True, False or one of arabic, .* found "lovins"'),
        ({"stemmer": None}, "stemmer: .* found None"),
    ],
)
def test_a_wrong_parameter_is_named(parameters, message) -> None:
    with pytest.raises(ParameterError, match=message):
        Analyzer(**parameters)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"version": 1}, "analyzer version: expected 2, found 1: build the index anew"),
        ({"version": 99}, "analyzer version: expected 2, found 99: please update Rankwell"),
        ({"langauge": "english"}, 'expected only language, .* found "langauge"'),
    ],
)
def test_a_config_of_another_time_is_refused(config, message) -> None:
    with pytest.raises(ParameterError, match=message):
        Analyzer.from_config(config)


@pytest.mark.parametrize("language", ["english", "turkish", "cjk", "hindi", "none"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\r\n\x00\x1f\x7f\x85",
        "\ud800 \udfff\ud800",
        "😀👩\u200d👩\u200d👧🇳🇴",
        "\u0301\u0301",
        "'",
        "''''",
        "\u202e\ufeff\u00ad",
        "\U0010ffff\ue000",
    ],
)
def test_text_without_words_gives_no_terms(language: str, text: str) -> None:
    analyzer = Analyzer(language)
    assert analyzer(text) == []
    assert analyzer.positions(text) == []


@pytest.mark.parametrize("language", ["english", "cjk"])
@pytest.mark.parametrize(
    "unit", ["x", "word ", "\u0301\u0323", "a\u0323\u0301", "日", "'", "a'", "5's", "\u00ad", "İ", " "]
)
def test_a_long_monotonous_text_takes_no_time(language: str, unit: str) -> None:
    analyzer = Analyzer(language)
    text = unit * 200_000
    assert [term for term, *_ in analyzer.positions(text)] == analyzer(text)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a few words, ", "\u0301\u0323", "naïve café \u2013 ", "日本語"])
def test_fifty_megabytes_are_analysed(unit: str) -> None:
    text = unit * (50_000_000 // len(unit.encode()))
    Analyzer()(text)


def test_the_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "MOST_REMEMBERED", 100)
    analyzer = Analyzer()
    words = [f"word{i}" for i in range(1000)]
    assert analyzer(" ".join(words)) == words
    assert len(analyzer._terms) <= 100


def test_long_words_are_not_remembered() -> None:
    analyzer = Analyzer()
    assert analyzer("x" * 100) == ["x" * 100]
    assert len(analyzer._terms) == 0


def test_threads_may_share_an_analyzer() -> None:
    texts = [" ".join(f"running{i}s infections{j}ing" for j in range(50)) for i in range(40)]
    shared = Analyzer()
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(shared, texts)) == [Analyzer()(text) for text in texts]
