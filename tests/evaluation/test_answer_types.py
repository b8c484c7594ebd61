from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import FormatError, RankwellError
from rankwell.evaluation.query_groups import (
    KEYWORDS,
    NOUNS,
    RULES,
    AnswerType,
    Rule,
    answer_type,
    answer_types,
    read_answer_types,
)

QUESTIONS = {
    "ABBR": ["What does HTML stand for?", "acronym for as soon as possible", "what is dna short for"],
    "ENTY": [
        "what is the fastest animal on land",
        "which languages are spoken in Peru",
        "what kind of fruit is a tomato",
        "what is the largest whale",
        "Name a metal that is liquid at room temperature.",
        "what does a silkworm produce",
        "What\u2019s the currency of Japan?",
        "types of bridges",
    ],
    "DESC": [
        "what is photosynthesis",
        "what are the northern lights?",
        "what is money",
        "define osmosis",
        "how do bees make honey",
        "why do leaves fall",
        "difference between a crocodile and an alligator",
        "what is baking soda used for",
        "side effects of aspirin",
        "what does ubiquitous mean",
    ],
    "HUM": [
        "who wrote Hamlet",
        "Which company makes the Beetle?",
        "what is the name of the man who climbed it first",
        "whose portrait is on the coin",
        "By whom was the tower built?",
    ],
    "LOC": [
        "where is Timbuktu",
        "what county is Springfield in",
        "what is the capital of Mongolia",
        "In which country was chess invented?",
        "what is the name of the longest river in Asia",
    ],
    "NUM": [
        "when did the war end",
        "how many bones are in a hand",
        "how much does a kitchen cost",
        "What is the population of Iceland?",
        "what is springfield population",
        "water boils at what temperature",
        "average salary of a nurse",
        "In what year was the bridge opened?",
    ],
}


@pytest.mark.parametrize(
    ("question", "expected"), [(question, kind) for kind, questions in QUESTIONS.items() for question in questions]
)
def test_questions_get_the_class_that_a_person_would_give(question: str, expected: str) -> None:
    assert answer_type(question) == expected


@pytest.mark.parametrize(
    "question", ["is the moon a planet", "do cats swim?", "blue suede shoes", "", "   ", "?!", "42"]
)
def test_a_yes_or_no_and_plain_words_have_no_class(question: str) -> None:
    assert answer_type(question) is None


@pytest.mark.parametrize("rule", [*RULES, *KEYWORDS], ids=lambda rule: rule.example)
def test_every_rule_decides_its_example(rule: Rule) -> None:
    first = next(other for other in (*RULES, *KEYWORDS) if other.pattern.search(rule.example.lower()))
    assert first is rule
    assert answer_type(rule.example) == rule.type


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_can_be_asked_for(noun: str) -> None:
    assert answer_type(f"which {noun} did they choose") == NOUNS[noun]


@given(st.text(st.sampled_from("what is the kind of name a city's who _-?\u2019 ") | st.characters(), max_size=60))
def test_any_text_gets_a_class_or_none(text: str) -> None:
    assert answer_type(text) in {*AnswerType, None}


@given(
    st.lists(st.sampled_from(["what", "which", "is", "the", "kind", "of", "name", "a", "city", "'s", "in"]), max_size=6)
)
def test_broken_questions_get_a_class_or_none(words: list[str]) -> None:
    assert answer_type(" ".join(words)) in {*AnswerType, None}


def test_capitals_and_punctuation_do_not_matter() -> None:
    assert answer_type("WHERE is it ?!") == answer_type("where is it")


def test_a_given_class_goes_before_the_rules() -> None:
    texts = {"1": "who is it", "2": "who was it", "3": "where is it"}
    found = answer_types(texts, {"1": AnswerType.ENTY, "2": None, "9": AnswerType.NUM})
    assert found == {"1": AnswerType.ENTY, "2": None, "3": AnswerType.LOC}


def test_classes_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "types.tsv"
    path.write_bytes("\ufeff# checked by hand\r\n1\tHUM\r\n\r\n2,num\r\nq 3\t-\r\n".replace("q 3", "q3").encode())
    assert read_answer_types(path) == {"1": AnswerType.HUM, "2": AnswerType.NUM, "q3": None}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 HUM\n2 PERSON\n", ':2: expected a query id and one of ABBR, .*, NUM or -, found "2 PERSON"'),
        ("1\n", ':1: expected a query id and one of .*, found "1"'),
        ("1 HUM LOC\n", ":1: expected a query id and one of"),
        ("1 HUM\n1 LOC\n", ':2: expected each query once, found "1"'),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "types.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        read_answer_types(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"nowhere\.tsv: cannot be read: No such file"):
        read_answer_types(tmp_path / "nowhere.tsv")
