"""A model with the frequent words of a collection in its vocabulary (S0): from documents to a folder."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import Document, RankwellError, atomic_write
from rankwell.train.embedding_extension import extend_model
from rankwell.train.folders import check_new_folder, new_folder
from rankwell.train.held_out import DEFAULT_SHARE, is_held_out
from rankwell.train.starting_model import find_trainable
from rankwell.train.tokenizer_extension import ExtendedTokenizer, extend_tokenizer, plain_tokenizer
from rankwell.train.vocabulary import FieldLength, Splitter, WordCounts, length_change, missing_words

log = logging.getLogger(__name__)

RECORD = "vocabulary.json"


@dataclass(frozen=True)
class VocabularyExtension:
    """What was added, and how much shorter texts have become for the model."""

    words: tuple[str, ...]
    counts: tuple[int, ...]
    pieces: tuple[tuple[str, ...], ...]
    lengths: tuple[FieldLength, ...]

    def record(self) -> dict[str, Any]:
        """As it is written beside the model."""
        words = zip(self.words, self.counts, self.pieces, strict=True)
        return {
            "words": [{"word": word, "count": count, "pieces": pieces} for word, count, pieces in words],
            "tokens": [
                {"field": length.field, "texts": length.texts, "before": length.before, "after": length.after}
                for length in self.lengths
            ],
        }


@dataclass(frozen=True)
class CollectionWords:
    """The words of the documents that may be learnt from, and of those that are held out."""

    learnt: WordCounts
    held_out: WordCounts


def count_collection(
    documents: Iterable[Document], model: str, *, held_out: float = DEFAULT_SHARE, seed: int = 0
) -> CollectionWords:
    """Count words as the model's tokenizer splits them; `train mlm` holds the same documents out."""
    split = Splitter(plain_tokenizer(find_trainable(model).path))
    found = CollectionWords(WordCounts(), WordCounts())
    for document in documents:
        (found.held_out if is_held_out(document.id, held_out, seed) else found.learnt).add(document, split)
    return found


def extend_vocabulary(
    found: CollectionWords, model: str, out: Path | str, *, words: int = 1000, at_least: int = 2
) -> VocabularyExtension:
    """Write a model's folder with the most frequent words of a collection that its vocabulary lacked.

    Words are chosen from the documents that `train mlm` learns from, so that what it measures on the others is honest;
    the change in length is reported over all.
    """
    check_new_folder(out)
    folder = find_trainable(model)
    before, counts = plain_tokenizer(folder.path), found.learnt.total()
    chosen = missing_words(counts, before, words, at_least)
    _check(chosen, counts, words, model)
    extended = extend_tokenizer(folder.path, chosen)
    made = VocabularyExtension(
        tuple(chosen),
        tuple(counts[word] for word in chosen),
        _names(chosen, extended, before),
        tuple(length_change(found.learnt + found.held_out, before, extended.tokenizer())),
    )
    with new_folder(out) as place:
        extend_model(folder, extended, place)
        with atomic_write(place / RECORD) as file:
            file.write(orjson.dumps({"model": folder.name, **made.record()}, option=orjson.OPT_INDENT_2))
    return made


def _names(words: Sequence[str], extended: ExtendedTokenizer, before: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(before.id_to_token(piece) for piece in extended.pieces[word]) for word in words)


def _check(chosen: Sequence[str], counts: dict[str, int], wanted: int, model: str) -> None:
    if not counts:
        raise RankwellError("documents: expected texts to take words from, found none")
    if not chosen:
        raise RankwellError(f"documents: expected frequent words that {model} breaks into pieces, found none")
    if len(chosen) < wanted:
        log.warning(
            "only %d words are frequent enough and not in the vocabulary; %d were asked for", len(chosen), wanted
        )
