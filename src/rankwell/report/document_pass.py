"""The one pass over the documents: each is looked at once and forgotten, only numbers are kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

from rankwell.core import Document
from rankwell.report.duplicate_statistics import DuplicateTally
from rankwell.report.field_statistics import TITLE, FieldTally
from rankwell.report.query_statistics import SHOWN_IDS, CountTokens
from rankwell.report.year_statistics import year_of

# Enough texts for a tokenizer to use all cores, few enough that long bodies do not fill the memory.
BATCH = 256


class DocumentTally:
    """What is known of the documents so far."""

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
        """Look at all of them, in batches for the tokenizer's sake."""
        for batch in _batches(documents):
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
                _compare_with_title(tally, text, tokens[name], texts.get(TITLE), tokens.get(TITLE, 0))
        if all_words:
            self.duplicates.add(document.id, all_words)
        else:
            self._add_empty(document.id)
        year = year_of(document.metadata) if document.metadata else None
        if year is not None:
            self.years[year] += 1

    def _add_empty(self, docno: str) -> None:
        self.empty += 1
        if len(self.empty_examples) < SHOWN_IDS:
            self.empty_examples.append(docno)


def _compare_with_title(tally: FieldTally, text: str, tokens: int, title: str | None, title_tokens: int) -> None:
    """Count a text beside the document's title, if it has one."""
    tally.with_title[title_tokens + tokens] += 1
    if title is not None:
        tally.titles_beside[title_tokens] += 1
        tally.beside_title += 1
        tally.shorter_than_title += len(text.strip()) < len(title.strip())


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    rest = iter(documents)
    while batch := list(islice(rest, BATCH)):
        yield batch
