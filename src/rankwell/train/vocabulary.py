"""The words of a collection that a WordPiece vocabulary has to break into pieces, and what adding them would save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwell.core import Document, ParameterError, RankwellError

SHORTEST = 2  # letters of a word that is worth an entry


@dataclass
class WordCounts:
    """How often each word stands in each field, as a tokenizer sees words: normalised, split at spaces and signs.

    Words rather than texts are counted because WordPiece works word by word: lengths in tokens under any vocabulary
    follow from these counts exactly, without a second pass over the collection.
    """

    words: dict[str, Counter[str]] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document, split: Splitter) -> None:
        """Count a document's words."""
        for name, text in document.fields.items():
            if text:
                self.words.setdefault(name, Counter()).update(split(text))
                self.texts[name] += 1

    def __add__(self, other: WordCounts) -> WordCounts:
        names = dict.fromkeys((*self.words, *other.words))
        nothing: Counter[str] = Counter()
        words = {name: self.words.get(name, nothing) + other.words.get(name, nothing) for name in names}
        return WordCounts(words, self.texts + other.texts)

    def total(self) -> Counter[str]:
        """The counts over all fields."""
        return sum(self.words.values(), Counter())


class Splitter:
    """A text's words as a tokenizer's own normaliser and splitter make them."""

    def __init__(self, tokenizer: Any) -> None:
        self._normalizer, self._splitter = tokenizer.normalizer, tokenizer.pre_tokenizer
        if self._splitter is None:
            raise RankwellError("tokenizer: expected one that splits a text into words, found one that does not")

    def __call__(self, text: str) -> list[str]:
        """The words, in their order."""
        plain = text if self._normalizer is None else self._normalizer.normalize_str(text)
        return [word for word, _ in self._splitter.pre_tokenize_str(plain)]


def count_words(documents: Iterable[Document], tokenizer: Any) -> WordCounts:
    """Count the words of documents, field by field."""
    split, counts = Splitter(tokenizer), WordCounts()
    for document in documents:
        counts.add(document, split)
    return counts


def missing_words(counts: Mapping[str, int], tokenizer: Any, most: int = 1000, at_least: int = 2) -> list[str]:
    """The most frequent words that are broken into pieces, the most frequent first (equal ones by the alphabet).

    A word has a letter and at least two characters: numbers and signs have good pieces already.
    """
    if most < 1:
        raise ParameterError("words", expected="a number from 1", found=most)
    if at_least < 1:
        raise ParameterError("at_least", expected="a number from 1", found=at_least)
    known = tokenizer.get_vocab(with_added_tokens=True)
    candidates = (
        (word, count) for word, count in counts.items() if count >= at_least and word not in known and _is_word(word)
    )
    ordered = sorted(candidates, key=lambda entry: (-entry[1], entry[0]))
    return [word for word, _ in ordered[:most]]


@dataclass(frozen=True)
class FieldLength:
    """The mean number of tokens of a field's texts under two vocabularies, special tokens left out."""

    field: str
    texts: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """-0.11 for 11 % fewer tokens."""
        return self.after / self.before - 1 if self.before else 0.0


def length_change(counts: WordCounts, before: Any, after: Any) -> list[FieldLength]:
    """The mean length of each field in tokens, before and after."""
    words = list(counts.total())
    old, new = (dict(zip(words, piece_counts(words, tokenizer), strict=True)) for tokenizer in (before, after))
    return [
        FieldLength(name, counts.texts[name], *(_mean(found, sizes, counts.texts[name]) for sizes in (old, new)))
        for name, found in counts.words.items()
    ]


def piece_counts(words: Sequence[str], tokenizer: Any) -> list[int]:
    """How many pieces each word has."""
    encoded = tokenizer.encode_batch_fast([[word] for word in words], is_pretokenized=True, add_special_tokens=False)
    return [len(encoding.ids) for encoding in encoded]


def _mean(words: Mapping[str, int], sizes: Mapping[str, int], texts: int) -> float:
    return sum(count * sizes[word] for word, count in words.items()) / texts


def _is_word(word: str) -> bool:
    return len(word) >= SHORTEST and any(letter.isalpha() for letter in word)
