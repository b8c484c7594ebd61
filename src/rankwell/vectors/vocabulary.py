"""The words of a collection as vectors: its most frequent terms, each by its most frequent word.

Terms are stems, which models do not know, so a word from the documents is encoded instead. Words and
vectors are stored beside the vectors of the documents; when the index has changed, only new words are encoded.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from rankwell.core import Floats, Integers, RankwellError
from rankwell.index import Index
from rankwell.index.blocks import COMBINED, BlockFile, Texts, add_texts
from rankwell.vectors.embeddings import Embeddings
from rankwell.vectors.quantise import unit
from rankwell.vectors.rows import replaced

logger = logging.getLogger(__name__)

FILE = "vocabulary"
KIND = "words"
SIZE = 10_000  # terms
SHORTEST = 3  # letters
SEEN = 3  # occurrences of a term to read before its most frequent word is chosen


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Terms, a word for each, and the words' vectors (of length 1)."""

    terms: Sequence[str]
    words: Sequence[str]
    vectors: Floats

    def nearest(self, vectors: Floats, k: int) -> tuple[Integers, Floats]:
        """For each vector the indices of the k nearest words, best first, and their cosine similarities."""
        scores = unit(vectors) @ self.vectors.T
        places = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return places, np.take_along_axis(scores, places, axis=1)


@lru_cache(maxsize=2)
def vocabulary_of(embeddings: Embeddings) -> Vocabulary:
    """The vocabulary of an index, encoded by the model that made the vectors."""
    path, index = embeddings.folder / FILE, embeddings.index
    known, made_of = _read(embeddings)
    if known is not None and made_of == index.fingerprint():
        return known
    words = surfaces(index, frequent_terms(index))
    before = dict(zip(known.words, known.vectors, strict=True)) if known else {}
    fresh = [word for word in words.values() if word not in before]
    if fresh:
        logger.warning("encoding %d words of the collection's vocabulary, once", len(fresh))
        before |= dict(zip(fresh, unit(embeddings.encoder().encode(fresh)), strict=True))
    vectors = [before[word] for word in words.values()]
    shaped = np.array(vectors, dtype=np.float32).reshape(-1, embeddings.dimensions)
    vocabulary = Vocabulary(list(words), list(words.values()), shaped)
    # Where the folder is read-only, the next process encodes them again.
    with contextlib.suppress(OSError), replaced(path, KIND) as file:
        add_texts(file, "terms", vocabulary.terms)
        add_texts(file, "words", vocabulary.words)
        file.add("vectors", vocabulary.vectors)
        file.finish({"index": index.fingerprint(), "encoder": embeddings.made_with})
    return vocabulary


def frequent_terms(index: Index, size: int = SIZE) -> list[str]:
    """The terms (of letters) in the most documents, the most frequent first."""
    counts: Counter[str] = Counter()
    for segment, _ in index.segments:
        terms = segment.terms.all()
        if COMBINED in segment.spaces:
            first = segment.spaces[COMBINED] * len(terms)
            offsets = segment.file["offsets"].part(first, first + len(terms) + 1).astype(np.int64)
            counts.update(dict(zip(terms, np.diff(offsets).tolist(), strict=True)))
    counted = ((term, count) for term, count in counts.items() if count and len(term) >= SHORTEST and term.isalpha())
    return [term for term, _ in sorted(counted, key=lambda item: (-item[1], item[0]))[:size]]


def surfaces(index: Index, terms: Sequence[str]) -> dict[str, str]:
    """For each term its most frequent word among the first few occurrences."""
    waiting = {term: Counter[str]() for term in terms}
    surface_of: dict[str, str] = {}
    # In storage order, so that each block is unpacked once.
    stored = (segment.store[place] for segment, _ in index.segments for place in range(segment.documents))
    for text in chain.from_iterable(document.fields.values() for document in stored):
        for term, _, start, end in index.analyzer.positions(text):
            if term in waiting:
                waiting[term][text[start:end].lower()] += 1
                if waiting[term].total() == SEEN:
                    surface_of[term] = waiting.pop(term).most_common(1)[0][0]
        if not waiting:
            break
    surface_of |= {term: words.most_common(1)[0][0] for term, words in waiting.items() if words}
    return {term: surface_of[term] for term in terms if term in surface_of}


def _read(embeddings: Embeddings) -> tuple[Vocabulary | None, str]:
    """The stored vocabulary, and its index's fingerprint; nothing where it is damaged, missing or of another model."""
    with contextlib.suppress(RankwellError, KeyError):
        file = BlockFile(embeddings.folder / FILE, KIND)
        if file.facts["encoder"] == embeddings.made_with:
            vectors = file["vectors"].all().reshape(-1, embeddings.dimensions)
            return Vocabulary(Texts(file, "terms").all(), Texts(file, "words").all(), vectors), file.facts["index"]
    return None, ""
