"""Texts as rows of one length: nothing is lost, nothing is padding but the end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked_models import LETTERS, opened, write_model

from rankwell.core import ParameterError, RankwellError
from rankwell.models.language_model.texts import pack

PAD, CLS, SEP = 0, 2, 3


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return opened(write_model(tmp_path_factory.mktemp("packing")))


@given(texts=st.lists(st.text(alphabet=LETTERS + "  .", max_size=60), min_size=1, max_size=8), width=st.integers(8, 20))
def test_rows_hold_all_tokens_in_their_order(tokenizer: Any, texts: list[str], width: int) -> None:
    encoded = [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False) if one.ids]
    if not encoded:
        return
    packed = pack(texts, tokenizer, width, PAD)
    assert packed.ids.shape[1] == width
    assert (packed.ids[:, 0] == CLS).all()
    assert (packed.ids[:, -1] == SEP).all()
    inner = packed.ids[:, 1:-1].ravel().tolist()
    expected = [token for ids in encoded for token in (*ids, SEP)][:-1]
    assert inner[: len(expected)] == expected
    assert set(inner[len(expected) :]) <= {PAD}
    assert len(inner) - len(expected) < width - 2
    assert (packed.texts, packed.tokens) == (len(encoded), sum(map(len, encoded)))


def test_the_first_tokens_of_words_are_marked(tokenizer: Any) -> None:
    packed = pack(["covids fever", "fever covid"], tokenizer, 12, PAD)
    assert packed.starts[0].tolist() == [1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1]
    #                                   CLS co vid s fe SEP fe co vid PAD PAD SEP


def test_equal_texts_have_equal_fingerprints_and_others_have_not(tokenizer: Any) -> None:
    one, same, other = (pack([text], tokenizer, 12, PAD).fingerprint() for text in ("fever", "Fever", "fevers"))
    assert one == same != other


def test_nothing_to_learn_from_is_refused(tokenizer: Any) -> None:
    with pytest.raises(RankwellError, match="expected texts to learn from"):
        pack(["", " "], tokenizer, 12, PAD)
    with pytest.raises(ParameterError, match="max_tokens: expected a number from 8, found 3"):
        pack(["fever"], tokenizer, 3, PAD)
