"""A masked language model before and after training: bits per character of held-out words, and filled masks.

Bits per character are comparable across vocabularies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from rankwell.core import SILENT, FormatError, ParameterError, Progress, atomic_write
from rankwell.evaluation.significance import Interval
from rankwell.models.language_model.masking import MaskTokenizer, masked_logits
from rankwell.models.language_model.settings import unit_hash
from rankwell.models.language_model.texts import PackedTexts, frame
from rankwell.models.learning.run_folder import write_json

WINDOW = 64  # words
PROBABILITY = 0.15


class Word(NamedTuple):
    """A word to predict: its tokens in the window, and its number of characters."""

    first: int
    last: int  # exclusive
    characters: int

    @property
    def pieces(self) -> int:
        """Number of tokens of the word."""
        return self.last - self.first


@dataclass(frozen=True)
class Window:
    """A part of a document as tokens (with special tokens), with the words to predict."""

    document: str
    ids: tuple[int, ...]
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Cloze:
    """The windows with words to predict, and counts of what was left out."""

    windows: tuple[Window, ...]
    unknown: int  # words without pieces in the vocabulary: predicting [UNK] says nothing about the word
    too_long: int  # windows longer than the model's input


def make_cloze(
    texts: Mapping[str, str],
    tokenizer: Any,
    *,
    unknown: int | None,
    longest: int = 512,
    window: int = WINDOW,
    probability: float = PROBABILITY,
    seed: int = 0,
) -> Cloze:
    """Choose words of texts (by document id); `unknown` is the id of [UNK], if the tokenizer has one."""
    if not 0 < probability <= 1:
        raise ParameterError("probability", expected="a number above 0, at most 1", found=probability)
    opening, closing = frame(tokenizer)
    windows, strange, too_long = [], 0, 0
    for document, text in texts.items():
        for number, words in _windows(text, tokenizer, window):
            ids, chosen, place = [opening], [], number * window
            for offset, (pieces, characters) in enumerate(words):
                if unit_hash("cloze", seed, document, place + offset) < probability:
                    if unknown in pieces:
                        strange += 1
                    else:
                        chosen.append(Word(len(ids), len(ids) + len(pieces), characters))
                ids.extend(pieces)
            if len(ids) + 1 > longest:
                too_long += 1
            elif chosen:
                windows.append(Window(document, (*ids, closing), tuple(chosen)))
    return Cloze(tuple(windows), strange, too_long)


def _windows(text: str, tokenizer: Any, size: int) -> Iterator[tuple[int, list[tuple[list[int], int]]]]:
    """The words of a text in numbered groups of `size`: their pieces, and their length in characters."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    tokens = zip(encoding.word_ids, encoding.ids, encoding.offsets, strict=True)
    words = []
    for _, group in groupby(tokens, key=lambda token: token[0]):
        _, pieces, places = zip(*group, strict=True)
        words.append((list(pieces), len(text[places[0][0] : places[-1][1]].strip())))
    for number, start in enumerate(range(0, len(words), size)):
        yield number, words[start : start + size]


BATCH = 32
SAMPLES = 2000
BLOCK = 1 << 20  # weights drawn at once
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOutBits:
    """The bits of each held-out document's chosen words."""

    documents: tuple[str, ...]
    words: Values
    characters: Values
    bits: Values

    @cached_property
    def per_character(self) -> float:
        """Bits per character over all documents."""
        return float(self.bits.sum() / self.characters.sum())

    def interval(self, level: float = 0.95, *, samples: int = SAMPLES, seed: int = 0) -> Interval:
        """The percentile bootstrap interval: documents are resampled with all of their words."""
        values = [self.resampled(drawn) for drawn in _draws(len(self.documents), samples, seed)]
        return _percentiles(np.concatenate(values), level)

    def resampled(self, drawn: Values) -> Values:
        """Bits per character of samples, in which documents are drawn so often."""
        return drawn @ self.bits / (drawn @ self.characters)


def difference(
    first: HeldOutBits, second: HeldOutBits, level: float = 0.95, *, samples: int = SAMPLES, seed: int = 0
) -> tuple[float, Interval]:
    """Second minus first in bits per character, with its interval: both use the same resampled documents."""
    if first.documents != second.documents:
        raise ParameterError("second", expected="bits of the same documents as the first", found=second.documents[:3])
    draws = _draws(len(first.documents), samples, seed)
    values = [second.resampled(drawn) - first.resampled(drawn) for drawn in draws]
    return second.per_character - first.per_character, _percentiles(np.concatenate(values), level)


class Guess(NamedTuple):
    """One model input: the first `known` pieces of each chosen word are visible, the next ones are predicted."""

    window: Window
    known: int

    def inputs(self, mask: int) -> list[int]:
        """The tokens with masks."""
        ids = list(self.window.ids)
        for word in self.window.words:
            ids[word.first + self.known : word.last] = [mask] * max(0, word.pieces - self.known)
        return ids

    @property
    def places(self) -> list[int]:
        """The positions of the predicted pieces."""
        return [word.first + self.known for word in self.window.words if word.pieces > self.known]


def held_out_bits(model: Any, cloze: Cloze, mask: int, padding: int, progress: Progress = SILENT) -> HeldOutBits:
    """Run the cloze test on a model."""
    documents = tuple(dict.fromkeys(window.document for window in cloze.windows))
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
    return HeldOutBits(documents, words, characters, bits)


def _batches(windows: Sequence[Window]) -> Iterator[list[Guess]]:
    """All inputs of all windows, grouped by length."""
    looks = [Guess(window, known) for window in windows for known in range(max(word.pieces for word in window.words))]
    looks.sort(key=lambda guess: len(guess.window.ids))
    for start in range(0, len(looks), BATCH):
        yield looks[start : start + BATCH]


def _bits(model: Any, guesses: Sequence[Guess], mask: int, padding: int) -> list[float]:
    """-log2 of the probability of each predicted piece, window by window."""
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


class Filling(NamedTuple):
    """A predicted token and its probability."""

    token: str
    probability: float


def fill_mask(model: Any, tokenizer: Any, sentence: str, mask: str, most: int = 5) -> list[list[Filling]]:
    """The most probable tokens for each mask (`[MASK]`) of a sentence."""
    import torch

    encoding, number = tokenizer.encode(sentence), tokenizer.token_to_id(mask)
    ids = torch.tensor([encoding.ids])
    if number not in encoding.ids:
        raise ParameterError("fill", expected=f"a sentence with {mask} in it", found=sentence)
    training = model.training
    model.eval()
    with torch.inference_mode():
        logits = masked_logits(model, {"input_ids": ids.to(model.device)}, ids.to(model.device) == number)
        best = logits.float().softmax(dim=-1).topk(most)
    model.train(training)
    return [
        [Filling(tokenizer.id_to_token(token), probability) for token, probability in zip(*gap, strict=True)]
        for gap in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def check_sentences(sentences: Sequence[str], mask: str) -> None:
    """Refuse a sentence without a mask before hours of training."""
    for sentence in sentences:
        if mask not in sentence:
            raise ParameterError("fill", expected=f"a sentence with {mask} in it", found=sentence)


ADAPTATION, HELD_OUT = "adaptation.json", "held_out.jsonl"


@dataclass(frozen=True)
class Answers:
    """The results of a model."""

    bits: HeldOutBits
    fillings: Mapping[str, list[list[Filling]]]


@dataclass(frozen=True)
class Adaptation:
    """The results before and after; `new` names the weights that did not come with the model."""

    new: tuple[str, ...]
    before: Answers
    after: Answers
    training: PackedTexts


@dataclass(frozen=True)
class Examination:
    """The held-out words to predict, and the sentences with masks."""

    held_out: Mapping[str, str]
    vocabulary: MaskTokenizer
    sentences: Sequence[str] = ()
    longest: int = 512
    quiet: bool = False

    @cached_property
    def cloze(self) -> Cloze:
        """The held-out words; the same for every vocabulary with the same word splitter."""
        return make_cloze(
            self.held_out, self.vocabulary.tokenizer, unknown=self.vocabulary.unknown, longest=self.longest
        )

    def take(self, model: Any, when: str) -> Answers:
        """Evaluate a model."""
        tokens, tokenizer = self.vocabulary.tokens, self.vocabulary.tokenizer
        total = len(self.cloze.windows)
        with Progress(f"measuring {when} training", unit="windows", total=total, quiet=self.quiet) as progress:
            bits = held_out_bits(model, self.cloze, tokens.mask, self.vocabulary.padding, progress)
        mask = self.vocabulary.mask
        return Answers(bits, {said: fill_mask(model, tokenizer, said, mask) for said in self.sentences})


def write_adaptation(folder: Path, adaptation: Adaptation) -> None:
    """Write `adaptation.json` with the figures, and `held_out.jsonl` with the bits of each document's words."""
    with atomic_write(folder / HELD_OUT) as file:
        bits = zip(adaptation.before.bits.bits, adaptation.after.bits.bits, strict=True)
        after = adaptation.after.bits
        for document, words, characters, (old, new) in zip(
            after.documents, after.words, after.characters, bits, strict=True
        ):
            line = {"document": document, "words": words, "characters": characters, "before": old, "after": new}
            file.write(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
    write_json(
        folder / ADAPTATION,
        {
            "new_weights": list(adaptation.new),
            "texts": adaptation.training.texts,
            "tokens": adaptation.training.tokens,
            "rows": len(adaptation.training),
            "held_out_documents": len(adaptation.after.bits.documents),
            "held_out_words": int(adaptation.after.bits.words.sum()),
            "held_out_characters": int(adaptation.after.bits.characters.sum()),
            "bits_per_character": {
                "before": _summary(adaptation.before.bits),
                "after": _summary(adaptation.after.bits),
            },
            "fill_mask": [
                {
                    "sentence": sentence,
                    "before": _gaps(adaptation.before.fillings[sentence]),
                    "after": _gaps(adaptation.after.fillings[sentence]),
                }
                for sentence in adaptation.after.fillings
            ],
        },
    )


def read_held_out(run: Path | str, when: str = "after") -> HeldOutBits:
    """The bits that a run measured `before` or `after` its training, for comparison with another run."""
    file = Path(run) / HELD_OUT
    try:
        lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        columns = [np.array([float(line[name]) for line in lines]) for name in ("words", "characters", when)]
        return HeldOutBits(tuple(line["document"] for line in lines), *columns)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise FormatError(file, None, expected=f'lines with "{when}"', found=str(error)) from error


def _summary(bits: HeldOutBits) -> dict[str, float]:
    low, high = bits.interval()
    return {"value": bits.per_character, "low": low, "high": high}


def _gaps(gaps: list[list[Filling]]) -> list[list[dict[str, Any]]]:
    return [[filling._asdict() for filling in gap] for gap in gaps]
