"""Statistics of documents, from one pass over them: fields, lengths, duplicates, years."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from rankwell.core import Document

# Counts the tokens of each of several texts, without the special ones.
CountTokens: TypeAlias = Callable[[Sequence[str]], Sequence[int]]
SHOWN_IDS = 5


@dataclass(frozen=True)
class Lengths:
    """The distinct lengths in ascending order and how many texts have each: small even for millions of texts."""

    values: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, occurrences: Mapping[int, int]) -> Lengths:
        """Build from the number of texts of each length."""
        values = tuple(sorted(value for value, count in occurrences.items() if count))
        return cls(values, tuple(occurrences[value] for value in values))

    @property
    def count(self) -> int:
        """Number of texts."""
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """The mean length; None without a text."""
        if not self.counts:
            return None
        return sum(value * count for value, count in zip(self.values, self.counts, strict=True)) / self.count

    @property
    def median(self) -> float | None:
        """The median length; None without a text."""
        if not self.counts:
            return None
        reached = np.cumsum(np.array(self.counts, dtype=np.float64))
        middle = [(self.count - 1) // 2, self.count // 2]
        low, high = np.searchsorted(reached, middle, side="right").tolist()
        return float(self.values[low] + self.values[high]) / 2

    @property
    def largest(self) -> int | None:
        """The length of the longest text; None without a text."""
        return self.values[-1] if self.values else None

    def over(self, limit: int) -> int:
        """Number of texts longer than the limit."""
        return sum(count for value, count in zip(self.values, self.counts, strict=True) if value > limit)

    def percent_over(self, limit: int) -> float | None:
        """Per cent of the texts that are longer than the limit; None without a text."""
        return 100 * self.over(limit) / self.count if self.counts else None

    def as_dict(self, limit: int | None = None) -> dict[str, Any]:
        """The statistics by name, and the distribution of lengths."""
        figures: dict[str, Any] = {"count": self.count, "mean": self.mean, "median": self.median, "max": self.largest}
        if limit is not None:
            figures |= {"limit": limit, "over_limit": self.over(limit), "percent_over_limit": self.percent_over(limit)}
        return figures | {"lengths": list(self.values), "counts": list(self.counts)}


def crossed(first: Lengths, second: Lengths, extra: int = 0) -> Lengths:
    """The lengths of every text of the first joined with every text of the second, each `extra` longer."""
    if not first.counts or not second.counts:
        return Lengths((), ())
    sums = np.add.outer(np.array(first.values), np.array(second.values)) + extra
    # Python's integers, which do not overflow.
    pairs = np.multiply.outer(np.array(first.counts, dtype=object), np.array(second.counts, dtype=object))
    occurrences: dict[int, int] = {}
    for length, count in zip(sums.ravel().tolist(), pairs.ravel().tolist(), strict=True):
        occurrences[length] = occurrences.get(length, 0) + count
    return Lengths.of(occurrences)


TITLE = "title"
ABSTRACT = "abstract"


@dataclass(frozen=True)
class FieldStatistics:
    """One field: the documents that have it (a blank text is none), its words and tokens.

    `beside_title` counts the documents that have this field and a title, `shorter_than_title` those of them where it
    is the one with fewer characters: such an abstract says "Reply" or "No abstract available".
    """

    name: str
    documents: int
    judged_documents: int
    words: Lengths
    tokens: Lengths | None
    beside_title: int
    shorter_than_title: int


@dataclass
class FieldTally:
    """Counts of a field while documents are read."""

    words: Counter[int] = field(default_factory=Counter)
    tokens: Counter[int] = field(default_factory=Counter)
    # Token counts of the judged documents by id (0 without a tokenizer), to be paired with queries later.
    judged: dict[str, int] = field(default_factory=dict)
    # Tokens of the title and this field together, and of those titles alone, as a cross-encoder reads them.
    with_title: Counter[int] = field(default_factory=Counter)
    titles_beside: Counter[int] = field(default_factory=Counter)
    beside_title: int = 0
    shorter_than_title: int = 0

    def compare_with_title(self, text: str, tokens: int, title: str | None, title_tokens: int) -> None:
        """Compare a text's length with the title's, if there is one."""
        self.with_title[title_tokens + tokens] += 1
        if title is not None:
            self.titles_beside[title_tokens] += 1
            self.beside_title += 1
            self.shorter_than_title += len(text.strip()) < len(title.strip())

    def finished(self, name: str, *, with_tokens: bool) -> FieldStatistics:
        """The statistics of the counted field."""
        words = Lengths.of(self.words)
        return FieldStatistics(
            name=name,
            documents=words.count,
            judged_documents=len(self.judged),
            words=words,
            tokens=Lengths.of(self.tokens) if with_tokens else None,
            beside_title=self.beside_title,
            shorter_than_title=self.shorter_than_title,
        )


def main_field(fields: Iterable[FieldStatistics]) -> str | None:
    """The field that a re-ranker would read: the abstract, or else the longest on average that is not the title."""
    texts = [field for field in fields if field.name != TITLE]
    if any(field.name == ABSTRACT for field in texts):
        return ABSTRACT
    longest = max(texts, key=lambda field: field.words.mean or 0, default=None)
    return longest.name if longest else None


SHOWN_GROUPS = 5
SHOWN_TWINS = 3


@dataclass(frozen=True)
class DuplicateStatistics:
    """`copies` documents repeat the text of an earlier one; they and those make up `groups` of equal documents."""

    copies: int
    groups: int
    examples: tuple[tuple[str, ...], ...]


class DuplicateTally:
    """Finds equal documents by 64-bit hashes: 16 bytes and the id for each document.

    Among a million different texts the chance that any two share a hash is one in 37 million.
    """

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._ids = bytearray()
        self._ends = array("Q")

    def add(self, docno: str, words: Iterable[str]) -> None:
        """Add a document as its lower-cased words, so that white space makes no difference."""
        digest = blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "little"))
        self._ids += docno.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._ids))

    def finished(self) -> DuplicateStatistics:
        """The counts, and the first few groups in the order of the collection."""
        hashes = np.array(self._hashes, dtype=np.uint64)
        distinct, first, sizes = np.unique(hashes, return_index=True, return_counts=True)
        repeated = np.flatnonzero(sizes > 1)
        earliest = repeated[np.argsort(first[repeated])][:SHOWN_GROUPS]
        places = [np.flatnonzero(hashes == distinct[group])[:SHOWN_TWINS] for group in earliest]
        return DuplicateStatistics(
            copies=len(hashes) - len(distinct),
            groups=len(repeated),
            examples=tuple(tuple(self._id(int(place)) for place in group) for group in places),
        )

    def _id(self, place: int) -> str:
        start = self._ends[place - 1] if place else 0
        return self._ids[start : self._ends[place]].decode("utf-8", "surrogatepass")


# Metadata keys that may hold a year, the most reliable first.
YEAR_KEYS = ("year", "date", "publish_time", "publish_date")

# Four digits that can be a year, alone or at the start of a date without dashes (20200315).
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?=\d{4}(?!\d)|(?!\d))")


@dataclass(frozen=True)
class YearStatistics:
    """Number of documents by year, ascending, and of documents without a year."""

    documents: Mapping[int, int]
    without: int


def year_of(metadata: Mapping[str, Any]) -> int | None:
    """The year in a document's metadata, or None."""
    for key in YEAR_KEYS:
        match = _YEAR.search(str(metadata.get(key, "")))
        if match:
            return int(match[1])
    return None


# Enough texts for a tokenizer to use all cores, few enough for the memory.
BATCH = 256


class DocumentTally:
    """Counts over the documents while they are read."""

    def __init__(self, judged: AbstractSet[str], count_tokens: CountTokens | None) -> None:
        self.documents = 0
        self.empty = 0
        self.empty_examples: list[str] = []
        self.found: set[str] = set()
        self.fields: defaultdict[str, FieldTally] = defaultdict(FieldTally)
        self.years: Counter[int] = Counter()
        self.duplicates = DuplicateTally()
        self._judged = judged
        self._count_tokens = count_tokens

    def read(self, documents: Iterable[Document]) -> None:
        """Count all documents, in batches for the tokenizer."""
        rest = iter(documents)
        while batch := list(islice(rest, BATCH)):
            filled = [{name: text for name, text in document.fields.items() if text.strip()} for document in batch]
            tokens = self._tokens(filled)
            for document, texts in zip(batch, filled, strict=True):
                self._add(document, texts, {name: next(tokens) for name in texts})

    def _tokens(self, filled: Sequence[dict[str, str]]) -> Iterator[int]:
        """Token counts of all texts of the batch, one after the other; zeros without a tokenizer."""
        texts = [text for of_document in filled for text in of_document.values()]
        if self._count_tokens is None:
            return iter([0] * len(texts))
        counts = self._count_tokens(texts) if texts else []
        return (int(count) for _, count in zip(texts, counts, strict=True))

    def _add(self, document: Document, texts: dict[str, str], tokens: dict[str, int]) -> None:
        self.documents += 1
        judged = document.id in self._judged
        if judged:
            self.found.add(document.id)
        all_words: list[str] = []
        for name, text in texts.items():
            words = text.lower().split()
            all_words += words
            tally = self.fields[name]
            tally.words[len(words)] += 1
            tally.tokens[tokens[name]] += 1
            if judged:
                tally.judged[document.id] = tokens[name]
            if name != TITLE:
                tally.compare_with_title(text, tokens[name], texts.get(TITLE), tokens.get(TITLE, 0))
        if all_words:
            self.duplicates.add(document.id, all_words)
        else:
            self.empty += 1
            self.empty_examples += [document.id] if len(self.empty_examples) < SHOWN_IDS else []
        year = year_of(document.metadata) if document.metadata else None
        if year is not None:
            self.years[year] += 1
