"""Bits per character of held-out words: how well a model guesses, in a unit that two vocabularies share.

Perplexity is a mean over tokens, and another vocabulary has other tokens. Here the unit is the character of the text.
For the words W that a cloze test (`rankwell.train.cloze`) chose, all of them masked with all of their pieces,

    bits per character = - sum over w in W, over pieces j of w:  log2 p(piece j of w | context, pieces < j of W)
                         --------------------------------------------------------------------------------------
                                             sum over w in W:  characters of w

The first pieces of all chosen words are guessed at once, then their second pieces with the first ones in sight, and so
on. Within a word that is left to right, as in Kauf and Ivanova, "A better way to do masked language model scoring"
(ACL 2023, arXiv 2305.10588): pieces guessed independently would make words of many pieces look harder than they are.
What remains is that the number of masks tells the number of pieces, a hint which a vocabulary with more pieces gives
more often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, Progress
from rankwell.core.progress import SILENT
from rankwell.evaluate.significance import Interval
from rankwell.train.cloze import Cloze, Window
from rankwell.train.mlm_head import masked_logits

BATCH = 32
SAMPLES = 2000
BLOCK = 1 << 20  # weights that are drawn at once
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOutBits:
    """What each held-out document's chosen words cost."""

    documents: tuple[str, ...]
    words: Values
    characters: Values
    bits: Values

    @cached_property
    def per_character(self) -> float:
        """Bits per character over all documents."""
        return float(self.bits.sum() / self.characters.sum())

    def interval(self, level: float = 0.95, *, samples: int = SAMPLES, seed: int = 0) -> Interval:
        """The percentile bootstrap interval: documents are drawn, with all of their words."""
        values = [drawn @ self.bits / (drawn @ self.characters) for drawn in _draws(len(self.documents), samples, seed)]
        return _percentiles(np.concatenate(values), level)


def difference(
    first: HeldOutBits, second: HeldOutBits, level: float = 0.95, *, samples: int = SAMPLES, seed: int = 0
) -> tuple[float, Interval]:
    """Second minus first in bits per character, with its interval: the same drawn documents for both."""
    if first.documents != second.documents:
        raise ParameterError("second", expected="bits of the same documents as the first", found=second.documents[:3])
    values = [
        drawn @ second.bits / (drawn @ second.characters) - drawn @ first.bits / (drawn @ first.characters)
        for drawn in _draws(len(first.documents), samples, seed)
    ]
    return second.per_character - first.per_character, _percentiles(np.concatenate(values), level)


class Guess(NamedTuple):
    """One look at a window: the first `known` pieces of each chosen word are in sight, the next ones are guessed."""

    window: Window
    known: int

    def inputs(self, mask: int) -> list[int]:
        """The tokens as the model sees them."""
        ids = list(self.window.ids)
        for word in self.window.words:
            ids[word.first + self.known : word.last] = [mask] * max(0, word.pieces - self.known)
        return ids

    @property
    def places(self) -> list[int]:
        """Where the guessed pieces stand."""
        return [word.first + self.known for word in self.window.words if word.pieces > self.known]


def held_out_bits(model: Any, cloze: Cloze, mask: int, padding: int, progress: Progress = SILENT) -> HeldOutBits:
    """Let a model take the test."""
    documents = {window.document: 0 for window in cloze.windows}
    numbers = {document: number for number, document in enumerate(documents)}
    words, characters, bits = (np.zeros(len(numbers)) for _ in range(3))
    for window in cloze.windows:
        number = numbers[window.document]
        words[number] += len(window.words)
        characters[number] += sum(word.characters for word in window.words)
    if not characters.sum():
        raise ParameterError("held_out", expected="enough held-out text to choose words from", found=len(cloze.windows))
    for guesses in _batches(cloze.windows):
        cost = iter(_bits(model, guesses, mask, padding))
        for guess in guesses:
            bits[numbers[guess.window.document]] += math.fsum(next(cost) for _ in guess.places)
        progress.advance(sum(guess.known == 0 for guess in guesses))
    return HeldOutBits(tuple(documents), words, characters, bits)


def _batches(windows: Sequence[Window]) -> Iterator[list[Guess]]:
    """All looks at all windows, those of like length together."""
    looks = [Guess(window, known) for window in windows for known in range(max(word.pieces for word in window.words))]
    looks.sort(key=lambda guess: len(guess.window.ids))
    for start in range(0, len(looks), BATCH):
        yield looks[start : start + BATCH]


def _bits(model: Any, guesses: Sequence[Guess], mask: int, padding: int) -> list[float]:
    """-log2 of the probability of each guessed piece, window by window."""
    import torch

    width = max(len(guess.window.ids) for guess in guesses)
    ids = torch.full((len(guesses), width), padding)
    attention, places = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    right: list[int] = []
    for row, guess in enumerate(guesses):
        length = len(guess.window.ids)
        ids[row, :length], attention[row, :length] = torch.tensor(guess.inputs(mask)), 1
        places[row, guess.places] = True
        right += [guess.window.ids[place] for place in guess.places]
    device, training = next(model.parameters()).device, model.training
    model.eval()
    with torch.inference_mode():
        given = {"input_ids": ids.to(device), "attention_mask": attention.to(device)}
        logits = masked_logits(model, given, places.to(device)).float()
        cost = logits.logsumexp(dim=-1) - logits[torch.arange(len(right)), torch.tensor(right)]
    model.train(training)
    return [value / math.log(2) for value in cost.cpu().tolist()]


def _draws(documents: int, samples: int, seed: int) -> Iterator[Values]:
    """How often each document is drawn, sample by sample, in blocks."""
    generator = np.random.default_rng(seed)
    rows = max(1, BLOCK // documents)
    for start in range(0, samples, rows):
        size = min(rows, samples - start)
        yield generator.multinomial(documents, [1 / documents] * documents, size=size).astype(float)


def _percentiles(values: Values, level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
