"""A column of texts as bytes is an array of strings for everybody who uses it."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import TEXT, strings
from rankwell.core.text_column import NARROW, TextColumn

TEXTS = st.lists(st.text("aZ9é\U0001f600", min_size=1, max_size=4) | st.just("long" * NARROW), max_size=8)


def column(texts: list[str]) -> TextColumn:
    return TextColumn.of([text.encode() for text in texts])


@given(TEXTS)
def test_it_has_the_texts_that_an_array_has(texts: list[str]) -> None:
    own, array = column(texts), strings(texts)
    assert own.tolist() == list(own) == texts
    assert (own == array).all()
    assert np.array_equal(np.asarray(own), array)
    assert own.astype(object).tolist() == texts
    assert len(own) == own.shape[0] == own.size == len(texts)


@given(TEXTS, st.data())
def test_a_choice_of_rows_is_a_choice_of_texts(texts: list[str], data: st.DataObject) -> None:
    own, array = column(texts), strings(texts)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)
    assert own[mask].tolist() == array[mask].tolist()
    assert own[::-1][1:].tolist() == texts[::-1][1:]
    assert [own[place] for place in range(-len(texts), len(texts))] == texts + texts
    assert own[mask][np.argsort(own[mask])].tolist() == np.sort(array[mask]).tolist()


@given(TEXTS, TEXTS)
def test_columns_can_be_joined(first: list[str], second: list[str]) -> None:
    assert TextColumn.joined([column(first), column(second)]).tolist() == first + second
    assert np.concatenate([column(first), column(second)]).tolist() == first + second


def test_blanks_are_seen_and_empty_texts_too() -> None:
    assert not column(["d1", "é"]).has_blanks
    assert all(column(texts).has_blanks for texts in (["a b"], ["a\t"], ["a", ""]))


def test_a_pickle_holds_the_chosen_texts_and_not_the_whole_buffer() -> None:
    pickled = pickle.dumps(column([f"document-{number:030}" for number in range(1000)])[3:5])
    assert len(pickled) < 1000
    loaded = pickle.loads(pickled)  # noqa: S301 -- our own, of this test
    assert loaded.dtype == TEXT
    assert loaded.tolist() == [f"document-{number:030}" for number in (3, 4)]
