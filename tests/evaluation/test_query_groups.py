from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, ParameterError, Queries, RankwellError
from rankwell.evaluation.query_groups import AnswerType, by_answer_type, by_length, by_relevant, read_groups, words

TEXTS = {
    "1": "fever",
    "2": "fever, cough",
    "3": "cough and fever",
    "4": "how long does a cough last",
    "5": "what should one do about a cough that does not go away",
    "6": "?!",
}


def test_words_are_counted_without_punctuation_but_with_stop_words() -> None:
    texts = ("", " - ", "what is it?", "don't  stop", "a, a , a", "été à la mer", "___ is")
    assert [words(text) for text in texts] == [0, 0, 3, 2, 3, 4, 1]


def test_queries_are_grouped_by_length_shortest_first() -> None:
    assert by_length(TEXTS) == {
        "no words": ("6",),
        "1-2 words": ("1", "2"),
        "3-4 words": ("3",),
        "5-7 words": ("4",),
        "8+ words": ("5",),
    }


def test_bins_without_a_query_are_left_out() -> None:
    assert list(by_length({"1": "fever", "2": "a cough that will not go away at all"})) == ["1-2 words", "8+ words"]
    assert by_length({}) == {}


def test_bins_can_be_chosen() -> None:
    assert list(by_length(TEXTS, starts=(1, 2, 3, 4))) == ["no words", "1 word", "2 words", "3 words", "4+ words"]


def test_a_first_bin_that_starts_late_takes_the_shorter_queries_too() -> None:
    assert by_length(TEXTS, starts=(4,)) == {"no words": ("6",), "1+ words": ("1", "2", "3", "4", "5")}


def test_quantile_bins_hold_about_as_many_queries_each() -> None:
    texts = {str(length): "word " * length for length in range(1, 10)}
    groups = by_length(texts, quantiles=3)
    assert {name: len(qids) for name, qids in groups.items()} == {"1-3 words": 3, "4-6 words": 3, "7+ words": 3}


def test_queries_of_one_length_stay_together_in_quantile_bins() -> None:
    assert by_length({"1": "a b", "2": "c d", "3": "e f"}, quantiles=3) == {"1+ words": ("1", "2", "3")}
    assert by_length({"1": ""}, quantiles=2) == {"no words": ("1",)}


@given(st.dictionaries(st.text(max_size=3), st.text("ab ,", max_size=40)), st.none() | st.integers(1, 5))
def test_every_query_is_in_exactly_one_group(texts: dict[str, str], quantiles: int | None) -> None:
    for groups in (by_length(texts, quantiles=quantiles), by_answer_type(texts)):
        assert sorted(qid for qids in groups.values() for qid in qids) == sorted(texts)


def test_queries_are_grouped_by_answer_type_and_the_rest_comes_last() -> None:
    texts = Queries.of(["is it so", "where is it", "who is it", "who was it"]).texts()
    assert by_answer_type(texts) == {"HUM": ("3", "4"), "LOC": ("2",), "unclassified": ("1",)}
    assert by_answer_type(texts, {"3": AnswerType.ENTY})["ENTY"] == ("3",)


@pytest.mark.parametrize("starts", [(), (0, 2), (3, 3), (5, 2)])
def test_bins_that_do_not_rise_are_refused(starts: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="starts: expected numbers of words, rising, from 1"):
        by_length(TEXTS, starts=starts)


def test_no_groups_are_refused() -> None:
    with pytest.raises(ParameterError, match="quantiles: expected a number of groups, at least 1, found 0"):
        by_length(TEXTS, quantiles=0)


def test_queries_are_grouped_by_the_number_of_relevant_documents() -> None:
    counts = {"a": 0, "b": 1, "c": 2, "d": 4, "e": 60}
    grades = {qid: {"n": 0, **{f"d{n}": 1 for n in range(count)}} for qid, count in counts.items()}
    expected = {"none relevant": ("a",), "1 relevant": ("b",), "2-4 relevant": ("c", "d"), "50+ relevant": ("e",)}
    assert by_relevant(Judgments.from_dict(grades), counts) == expected


def test_groups_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "groups.tsv"
    path.write_text("# topics\nq1\tsmall animals\n\nq2, plants\nq3 small animals\n")
    assert read_groups(path) == {"small animals": ("q1", "q3"), "plants": ("q2",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\n", ":1: expected a query id and the name of its group"),
        ("q1 a\nq1 b\n", ":2: expected each query once"),
        ("# nothing\n", "expected lines of a query id and the name of its group, found none"),
    ],
)
def test_mistakes_in_a_file_of_groups_have_their_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "groups.tsv"
    path.write_text(text)
    with pytest.raises(RankwellError, match=message):
        read_groups(path)
