from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.reviews import Reference
from rankwell.reviews.matching import comparable_title
from rankwell.reviews.screening.duplicates import Duplicate, find_duplicates

RUNNING = Reference(
    title="Running as a treatment of depression in adults", authors=("Smith A", "Doe J"), year=2004, journal="J Med"
)


def found(*references: Reference, known: int = 0) -> list[Duplicate]:
    return list(find_duplicates(references, known))


def test_the_same_number_is_the_same_publication_however_it_is_written() -> None:
    one = Reference(title="A title", doi="10.1000/ABC", pmid="")
    assert found(one, Reference(title="A Title.", doi="10.1000/abc")) == [(1, 0, "same DOI", True)]
    assert found(Reference(title="T", pmid="7"), Reference(title="T", pmid="7")) == [(1, 0, "same PubMed number", True)]


def test_one_number_with_quite_different_titles_is_looked_at() -> None:
    book = Reference(title="Introduction to the handbook", doi="10.1000/1")
    assert found(book, Reference(title="Z z z", doi="10.1000/1")) == [(1, 0, "same DOI, but other titles", False)]


@pytest.mark.parametrize(
    ("change", "certain"),
    [
        ({"title": "[RUNNING as a treatment of depression in adults]."}, True),
        ({"year": None}, True),
        ({"authors": ()}, True),
        ({"year": 2009}, False),
        ({"authors": ("Nguyen T", "Okafor C", "Petrov I")}, False),
    ],
)
def test_the_same_title_is_certain_unless_something_contradicts(change: dict[str, object], *, certain: bool) -> None:
    pairs = found(RUNNING, replace(RUNNING, **change))  # type: ignore[arg-type]
    assert [(pair.copy, pair.original, pair.certain) for pair in pairs] == [(1, 0, certain)]


def test_other_numbers_contradict() -> None:
    preprint, article = replace(RUNNING, doi="10.1101/1"), replace(RUNNING, doi="10.1000/2")
    assert [pair.certain for pair in found(preprint, article)] == [False]


def test_the_second_part_of_a_study_is_not_its_first() -> None:
    long = f"{RUNNING.title}, in the community, in primary care and in hospital: a study in several parts, part"
    for one, other in (("1", "2"), ("I", "II"), ("A", "B")):
        pairs = found(replace(RUNNING, title=f"{long} {one}"), replace(RUNNING, title=f"{long} {other}"))
        assert pairs == [(1, 0, "same title, other number in it", False)]


def test_a_short_title_needs_the_same_year_and_authors() -> None:
    assert [pair.certain for pair in found(Reference(title="Editorial"), Reference(title="Editorial"))] == [False]
    whole = Reference(title="Editorial", year=2004, authors=("Smith A",))
    assert [pair.certain for pair in found(whole, whole)] == [True]


def test_similar_titles_of_one_year_and_the_same_authors_are_looked_at() -> None:
    second = replace(RUNNING, title=RUNNING.title + ", part 2")
    assert [(pair.certain, pair.why[:13]) for pair in found(RUNNING, second)] == [(False, "similar title")]
    assert found(RUNNING, replace(second, year=2005)) == []
    assert found(RUNNING, replace(second, authors=("Nguyen T", "Okafor C"))) == []


@given(st.lists(st.text("ab ", min_size=1, max_size=12), min_size=2, max_size=12))
def test_no_similar_title_is_overlooked(titles: list[str]) -> None:
    """The bounds that spare most comparisons lose nothing: difflib, comparing all with all, finds the same."""
    references = [Reference(title=title, year=2004, authors=("Smith A",)) for title in titles]
    plain = [comparable_title(title) for title in titles]
    expected = {
        later
        for later in range(len(plain))
        if any(
            plain[earlier] and SequenceMatcher(None, plain[earlier], plain[later], autojunk=False).ratio() > 0.85
            for earlier in range(later)
        )
    }
    assert {pair.copy for pair in found(*references)} == expected


@given(st.integers(1, 200), st.data())
def test_no_similar_long_title_is_overlooked(length: int, data: st.DataObject) -> None:
    """Compiled code counts 64 characters at a time: titles around its bounds, and characters that fall together."""
    title = data.draw(st.text("abcde \u00e1\u0161", min_size=length, max_size=length))
    other = list(title)
    for _ in range(data.draw(st.integers(0, length // 6))):
        other[data.draw(st.integers(0, length - 1))] = data.draw(st.sampled_from(["", "x", "ab", "\u0161"]))
    titles = [comparable_title(title), comparable_title("".join(other))]
    similar = all(titles) and SequenceMatcher(None, *titles, autojunk=False).ratio() > 0.85
    references = [Reference(title=of, year=2004, authors=("Smith A",)) for of in titles]
    assert bool(found(*references)) == similar


def test_copies_of_copies_point_to_the_first() -> None:
    assert [(pair.copy, pair.original) for pair in found(RUNNING, RUNNING, RUNNING)] == [(1, 0), (2, 0)]


def test_what_was_known_before_is_not_found_again() -> None:
    assert [(pair.copy, pair.original) for pair in found(RUNNING, RUNNING, RUNNING, known=2)] == [(2, 0)]


def test_records_without_title_and_number_are_nobodys_copies() -> None:
    assert found(Reference(), Reference(), Reference(abstract="Text")) == []
