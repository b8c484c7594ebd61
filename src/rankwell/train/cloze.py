"""A cloze test that does not depend on the vocabulary: which words of held-out texts are to be guessed.

Words are those of the tokenizer's own splitter, which comes before the vocabulary: a tokenizer and its extended twin
split a text into the same words. A word is chosen by a hash of the document and the word's place, and texts are cut
after so many words (not tokens), so that every model guesses the same words from the same context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from rankwell.core import ParameterError
from rankwell.train.held_out import unit_hash
from rankwell.train.packing import frame

WINDOW = 64  # words
PROBABILITY = 0.15


class Word(NamedTuple):
    """A word to be guessed: its tokens' places in the window, and how many characters of the text it is."""

    first: int
    last: int  # exclusive
    characters: int

    @property
    def pieces(self) -> int:
        """How many tokens it has."""
        return self.last - self.first


@dataclass(frozen=True)
class Window:
    """A piece of a document as tokens (special ones included), with the words to be guessed."""

    document: str
    ids: tuple[int, ...]
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Cloze:
    """The windows in which there is something to guess, and what had to be left out."""

    windows: tuple[Window, ...]
    unknown: int  # words that the vocabulary has no pieces for: guessing [UNK] says nothing about the word
    too_long: int  # windows with more tokens than the model has places


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
    """Choose words of texts (by document id); `unknown` is the id of [UNK], where the tokenizer has one."""
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
    """The words of a text, so many at a time and numbered: their pieces, and their length in characters."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    tokens = zip(encoding.word_ids, encoding.ids, encoding.offsets, strict=True)
    words = [_word(list(group), text) for _, group in groupby(tokens, key=lambda token: token[0])]
    for number, start in enumerate(range(0, len(words), size)):
        yield number, words[start : start + size]


def _word(tokens: Iterable[tuple[int, int, tuple[int, int]]], text: str) -> tuple[list[int], int]:
    pieces = list(tokens)
    first, last = pieces[0][2][0], pieces[-1][2][1]
    return [token for _, token, _ in pieces], len(text[first:last].strip())
