from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, ParameterError, Template
from rankwell.models.reranking.passages import DocumentTexts, Passages

WORDS = st.lists(st.text("abc", min_size=1, max_size=3), max_size=400)
TITLES = st.lists(st.text("xyz", min_size=1, max_size=3), max_size=70)


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{number}" for number in range(start, start + count))


def test_a_passage_has_150_words_with_the_title_in_front_and_counted() -> None:
    found = Passages(150, overlap=50).split("one two three", words(300))
    assert [len(passage.split()) for passage in found] == [150, 150, 109]
    assert all(passage.startswith("one two three w") for passage in found)
    assert found[1].split()[3] == "w97"  # 147 words of the body in the first, the last 50 of them again


def test_a_short_last_passage_stays() -> None:
    assert Passages(10, overlap=2).split("", words(19))[-1] == "w16 w17 w18"


def test_a_document_as_long_as_a_passage_is_one_passage() -> None:
    assert Passages(10, overlap=2).split("", words(10)) == [words(10)]


@pytest.mark.parametrize(("title_words", "in_front"), [(49, True), (50, False)])
def test_a_title_of_50_words_is_read_only_once(title_words: int, in_front: bool) -> None:
    title = " ".join(["t"] * title_words)
    found = Passages().split(title, words(500))
    assert all(passage.startswith("t ") for passage in found) == in_front
    assert found[0].split().count("t") == title_words


def test_a_title_that_would_leave_no_room_is_read_only_once() -> None:
    assert Passages(6, overlap=4).split("a b", words(4)) == ["a b w0 w1 w2 w3"]
    assert Passages(6, overlap=4).split("a b c", words(4)) == ["a b c w0 w1 w2", "c w0 w1 w2 w3"]


def test_without_title_it_is_part_of_the_body() -> None:
    document = Document("d", {"title": "a b", "text": words(4)})
    assert DocumentTexts(passages=Passages(4, 0, title=False))(document) == ["a b w0 w1", "w2 w3"]


@pytest.mark.parametrize(
    ("title", "body", "expected"), [("", "", []), ("", " \n\t ", []), ("a title", "", ["a title"])]
)
def test_what_has_no_body_is_its_title_or_nothing(title: str, body: str, expected: list[str]) -> None:
    assert Passages().split(title, body) == expected
    assert Passages.paragraphs().split(title, body) == expected


def test_paragraphs_are_passages_and_only_long_ones_are_split() -> None:
    body = f"{words(3)}\n \n{words(12)}\n\n\nlast one\nhere"
    found = Passages.paragraphs(words=9, overlap=2).split("title", body)
    assert found == [
        "title w0 w1 w2",
        "title w0 w1 w2 w3 w4 w5 w6 w7",
        "title w6 w7 w8 w9 w10 w11",
        "title last one here",
    ]


def test_fields_are_paragraphs_too() -> None:
    document = Document("d", {"title": "T", "abstract": "short one", "body": "first\n\nsecond"})
    assert DocumentTexts(passages=Passages.paragraphs())(document) == ["T short one", "T first", "T second"]


def test_a_title_in_the_template_is_not_read_twice() -> None:
    document = Document("d", {"title": "T", "abstract": "a b", "body": "c d"})
    both, abstract = Template("{title} {abstract}"), Template("{abstract}")
    assert DocumentTexts(both, Passages(10, 2))(document) == ["T a b"]
    assert DocumentTexts(abstract, Passages(10, 2))(document) == ["a b"]


@given(TITLES, WORDS, st.integers(1, 160), st.integers(0, 159))
def test_no_word_is_lost_and_no_passage_is_too_long(title: list[str], body: list[str], size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    found = [passage.split() for passage in Passages(size, overlap).split(" ".join(title), " ".join(body))]
    assert all(1 <= len(passage) <= size for passage in found)
    in_front = title if len(title) < 50 and 3 * len(title) <= size and len(title) + overlap < size else []
    assert all(passage[: len(in_front)] == in_front for passage in found)
    bodies = [passage[len(in_front) :] for passage in found]
    rebuilt = [word for place, part in enumerate(bodies) for word in (part[overlap:] if place else part)]
    assert rebuilt == (body if in_front else [*title, *body])
    assert all(after[:overlap] == before[-overlap:] for before, after in pairwise(bodies) if overlap)


@given(st.lists(WORDS, max_size=4), st.integers(2, 60))
def test_paragraphs_lose_no_word(paragraphs: list[list[str]], size: int) -> None:
    body = "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)
    found = Passages.paragraphs(size, 0).split("", body)
    assert [word for passage in found for word in passage.split()] == body.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("150:50", Passages(150, 50)),
        ("200", Passages(200, 0)),
        ("paragraphs", Passages.paragraphs()),
    ],
)
def test_passages_are_written_as_words_and_overlap(text: str, expected: Passages) -> None:
    assert Passages.parse(text) == expected


@pytest.mark.parametrize("text", ["", "150:", ":50", "a:b", "-1:0", "150:50:2", "1.5"])
def test_other_writing_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="words and overlap such as 150:50"):
        Passages.parse(text)


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, 11), (10, -1)])
def test_an_overlap_that_never_ends_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ParameterError, match="passages: expected"):
        Passages(size, overlap)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(ParameterError, match="words or paragraphs"):
        Passages(unit="sections")
