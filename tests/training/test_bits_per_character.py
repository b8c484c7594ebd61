"""Bits per character: the definition, by hand and by brute force, and that two vocabularies get the same words."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from masked_models import VOCABULARY, opened, write_model

from rankwell.core import ParameterError, RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.language_model.cloze import (
    Cloze,
    Guess,
    HeldOutBits,
    Window,
    Word,
    difference,
    held_out_bits,
    make_cloze,
    read_held_out,
)
from rankwell.models.language_model.masking import load_masked_model
from rankwell.models.language_model.vocabulary import extend_tokenizer

SOME = 3
MASK, PAD = VOCABULARY.index("[MASK]"), 0
TEXTS = {
    "1": "The covids of mice. Fever was high in the patient and interferon in blood.",
    "2": "Interferon and covid, and the virus of mice: a cell was in the blood of the patient.",
    "3": "Covid " * 100,
}


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(write_model(tmp_path_factory.mktemp("bits"), "BertForMaskedLM"))


@pytest.fixture(scope="module")
def model(body: Path) -> Any:
    return load_masked_model(ModelFolder.find(str(body))).model


def words_of(cloze: Cloze, tokenizer: Any) -> list[tuple[str, str, int]]:
    return [
        (window.document, tokenizer.decode(list(window.ids[word.first : word.last])), word.characters)
        for window in cloze.windows
        for word in window.words
    ]


def test_the_figure_is_the_one_computed_by_hand(model: Any) -> None:
    """`fever` (5 characters, one piece) and `covids` (6 characters: co ##vid ##s) are guessed in `the fever covids`."""
    import torch

    ids = [VOCABULARY.index(token) for token in ("[CLS]", "the", "fever", "co", "##vid", "##s", "[SEP]")]
    window = Window("d", tuple(ids), (Word(2, 3, 5), Word(3, 6, 6)))

    def bits(inputs: list[int], place: int) -> float:
        with torch.inference_mode():
            logits = model.eval()(input_ids=torch.tensor([inputs])).logits[0, place].double()
        return -math.log2(float(logits.softmax(dim=-1)[ids[place]]))

    first = [*ids[:2], MASK, MASK, MASK, MASK, ids[6]]
    second = [*ids[:2], ids[2], ids[3], MASK, MASK, ids[6]]
    third = [*ids[:2], ids[2], ids[3], ids[4], MASK, ids[6]]
    total = bits(first, 2) + bits(first, 3) + bits(second, 4) + bits(third, 5)
    found = held_out_bits(model, Cloze((window,), 0, 0), MASK, PAD)
    assert found.per_character == pytest.approx(total / (5 + 6), rel=1e-5)
    assert (found.words.tolist(), found.characters.tolist()) == ([2], [11])


def test_probabilities_of_all_answers_add_up_to_one(model: Any) -> None:
    """Over every pair of pieces that could stand in a word's place: 2 ** -bits is a distribution."""
    import torch

    head = (VOCABULARY.index("[CLS]"), VOCABULARY.index("the"))
    tail = (VOCABULARY.index("[SEP]"),)
    pairs = product(range(len(VOCABULARY)), range(SOME))
    windows = [Window("d", (*head, *pair, *tail), (Word(2, 4, 1),)) for pair in pairs]
    cost = [held_out_bits(model, Cloze((window,), 0, 0), MASK, PAD).bits[0] for window in windows]
    with torch.inference_mode():
        share = _share_of_second(model, head, tail)
    assert sum(2.0**-bits for bits in cost) == pytest.approx(share, rel=1e-4)


def _share_of_second(model: Any, head: tuple[int, ...], tail: tuple[int, ...]) -> float:
    """The probability that the second piece is one of the first few entries, summed over the first piece."""
    import torch

    start = torch.tensor([[*head, MASK, MASK, *tail]])
    firsts = model.eval()(input_ids=start).logits[0, 2].softmax(dim=-1)
    rows = torch.tensor([[*head, first, MASK, *tail] for first in range(len(VOCABULARY))])
    seconds = model(input_ids=rows).logits[:, 3].softmax(dim=-1)[:, :SOME].sum(dim=1)
    return float((firsts * seconds).sum())


def test_two_vocabularies_guess_the_same_words_of_the_same_characters(body: Path) -> None:
    old, new = opened(body), extend_tokenizer(body, ["covid", "interferon"]).tokenizer()
    chosen = [make_cloze(TEXTS, one, unknown=1, probability=0.4) for one in (old, new)]
    assert words_of(chosen[0], old) == words_of(chosen[1], new)
    assert words_of(chosen[0], old)
    assert any(word == "covid" for _, word, _ in words_of(chosen[0], old))
    assert sum(len(w.ids) for w in chosen[1].windows) < sum(len(w.ids) for w in chosen[0].windows)


def test_windows_are_cut_after_words_and_the_share_of_words_is_chosen(body: Path) -> None:
    texts = {str(number): "fever covid " * 500 for number in range(5)}
    cloze = make_cloze(texts, opened(body), unknown=1, window=20, probability=0.2)
    assert all(len(window.ids) == 2 + 10 + 20 for window in cloze.windows)  # covid has two pieces
    count = sum(len(window.words) for window in cloze.windows)
    assert abs(count - 1000) < 5 * math.sqrt(5000 * 0.2 * 0.8)


def test_other_documents_do_not_change_which_words_are_chosen(body: Path) -> None:
    tokenizer = opened(body)
    alone = make_cloze({"2": TEXTS["2"]}, tokenizer, unknown=1, probability=0.5)
    together = make_cloze(TEXTS, tokenizer, unknown=1, probability=0.5)
    assert alone.windows == tuple(window for window in together.windows if window.document == "2")


def test_what_cannot_be_guessed_fairly_is_left_out_and_counted(body: Path) -> None:
    cloze = make_cloze({"1": "fever \u4e2d fever", "2": "a" * 90}, opened(body), unknown=1, probability=1, longest=64)
    assert (cloze.unknown, cloze.too_long) == (1, 1)
    assert [len(window.words) for window in cloze.windows] == [2]


def test_characters_are_those_of_the_text(body: Path) -> None:
    cloze = make_cloze({"1": "Caf\u00e9 COVID."}, opened(body), unknown=1, probability=1)
    assert [word.characters for word in cloze.windows[0].words] == [4, 5, 1]


def test_a_look_shows_the_first_pieces_and_hides_the_rest() -> None:
    window = Window("d", (2, 10, 11, 12, 13, 3), (Word(1, 2, 1), Word(2, 5, 1)))
    looks = [Guess(window, known) for known in range(3)]
    assert [look.inputs(99) for look in looks] == [
        [2, 99, 99, 99, 99, 3],
        [2, 10, 11, 99, 99, 3],
        [2, 10, 11, 12, 99, 3],
    ]
    assert [look.places for look in looks] == [[1, 2], [3], [4]]


def test_figures_do_not_depend_on_the_batch(body: Path, model: Any) -> None:
    cloze = make_cloze(TEXTS, opened(body), unknown=1, probability=0.5, longest=64, window=20)
    together = held_out_bits(model, cloze, MASK, PAD)
    for document, bits in zip(together.documents, together.bits, strict=True):
        windows = tuple(window for window in cloze.windows if window.document == document)
        assert held_out_bits(model, Cloze(windows, 0, 0), MASK, PAD).bits[0] == pytest.approx(bits, rel=1e-5)


def measured(bits: list[float]) -> HeldOutBits:
    names = tuple(map(str, range(len(bits))))
    return HeldOutBits(names, np.ones(len(bits)), np.array([10.0, 20.0, 30.0, 40.0])[: len(bits)], np.array(bits))


def test_the_interval_is_the_bootstrap_over_documents() -> None:
    found = measured([10.0, 30.0, 60.0])
    every = [sum(found.bits[[*drawn]]) / sum(found.characters[[*drawn]]) for drawn in product(range(3), repeat=3)]
    low, high = found.interval(level=0.5, samples=20_000)
    expected = np.quantile(every, [0.25, 0.75], method="inverted_cdf")
    assert found.per_character == pytest.approx(100 / 60)
    assert (low, high) == pytest.approx(expected)


def test_a_difference_is_paired() -> None:
    first, second = measured([10.0, 30.0, 60.0, 100.0]), measured([15.0, 40.0, 75.0, 120.0])
    value, interval = difference(first, second)
    assert value == pytest.approx(0.5)
    assert interval == pytest.approx((0.5, 0.5))  # each document costs half a bit a character more
    with pytest.raises(ParameterError, match="bits of the same documents"):
        difference(first, measured([1.0]))


def test_a_run_without_figures_says_so(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"held_out\.jsonl"):
        read_held_out(tmp_path)
