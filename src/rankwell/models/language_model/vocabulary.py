"""Find frequent words of a collection that a vocabulary splits, and add them to a model."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import Document, MissingExtraError, ParameterError, RankwellError, atomic_write
from rankwell.models.base.folder import ModelFolder
from rankwell.models.language_model.settings import DEFAULT_SHARE, VocabularySettings, is_held_out
from rankwell.models.learning.folders import check_new_folder, new_folder
from rankwell.models.learning.starting_model import find_trainable, load_model

SHORTEST = 2  # fewest letters of a word to add


@dataclass
class WordCounts:
    """Word counts by field, with words as a tokenizer sees them: normalised, split at spaces and punctuation.

    Words rather than texts are counted because WordPiece works word by word: lengths in tokens under any vocabulary
    follow from these counts exactly, without a second pass over the collection.
    """

    words: dict[str, Counter[str]] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document, split: WordSplitter) -> None:
        """Count the words of a document."""
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


class WordSplitter:
    """Splits a text into words with a tokenizer's own normaliser and pre-tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._normalizer, self._splitter = tokenizer.normalizer, tokenizer.pre_tokenizer
        if self._splitter is None:
            raise RankwellError("tokenizer: expected one that splits a text into words, found one that does not")

    def __call__(self, text: str) -> list[str]:
        """The words of the text, in order."""
        plain = text if self._normalizer is None else self._normalizer.normalize_str(text)
        return [word for word, _ in self._splitter.pre_tokenize_str(plain)]


def missing_words(counts: Mapping[str, int], tokenizer: Any, most: int = 1000, at_least: int = 2) -> list[str]:
    """The most frequent words that are split into pieces, by descending frequency (ties alphabetically).

    A word has a letter and at least two characters: numbers and punctuation have good pieces already.
    """
    for name, number in (("words", most), ("at_least", at_least)):
        if number < 1:
            raise ParameterError(name, expected="a number from 1", found=number)
    known = tokenizer.get_vocab(with_added_tokens=True)
    words = [word for word in counts if len(word) >= SHORTEST and any(letter.isalpha() for letter in word)]
    candidates = [(word, counts[word]) for word in words if counts[word] >= at_least and word not in known]
    ordered = sorted(candidates, key=lambda entry: (-entry[1], entry[0]))
    return [word for word, _ in ordered[:most]]


@dataclass(frozen=True)
class FieldLength:
    """The mean number of tokens of a field's texts under two vocabularies, without special tokens."""

    field: str
    texts: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """The relative change: -0.11 for 11 % fewer tokens."""
        return self.after / self.before - 1 if self.before else 0.0


def length_change(counts: WordCounts, before: Any, after: Any) -> list[FieldLength]:
    """The mean length of each field in tokens, before and after."""
    words = list(counts.total())
    old, new = (dict(zip(words, piece_counts(words, tokenizer), strict=True)) for tokenizer in (before, after))
    return [
        FieldLength(name, counts.texts[name], *(_mean(of_field, sizes, counts.texts[name]) for sizes in (old, new)))
        for name, of_field in counts.words.items()
    ]


def piece_counts(words: Sequence[str], tokenizer: Any) -> list[int]:
    """The number of pieces of each word."""
    encoded = tokenizer.encode_batch_fast([[word] for word in words], is_pretokenized=True, add_special_tokens=False)
    return [len(encoding.ids) for encoding in encoded]


def _mean(words: Mapping[str, int], sizes: Mapping[str, int], texts: int) -> float:
    return sum(count * sizes[word] for word, count in words.items()) / texts


log = logging.getLogger(__name__)

RECORD = "vocabulary.json"


@dataclass(frozen=True)
class VocabularyExtension:
    """The added words, and how much shorter texts have become in tokens."""

    words: tuple[str, ...]
    counts: tuple[int, ...]
    pieces: tuple[tuple[str, ...], ...]
    lengths: tuple[FieldLength, ...]

    def record(self) -> dict[str, Any]:
        """The extension as a dictionary, as written beside the model."""
        words = zip(self.words, self.counts, self.pieces, strict=True)
        return {
            "words": [{"word": word, "count": count, "pieces": pieces} for word, count, pieces in words],
            "tokens": [asdict(length) for length in self.lengths],
        }


@dataclass(frozen=True)
class CollectionWords:
    """The words of the training documents, and of the held-out ones."""

    learnt: WordCounts
    held_out: WordCounts


def count_collection(
    documents: Iterable[Document], model: str, *, held_out: float = DEFAULT_SHARE, seed: int = VocabularySettings.seed
) -> CollectionWords:
    """Count words as the model's tokenizer splits them; `train mlm` holds out the same documents."""
    split = WordSplitter(plain_tokenizer(find_trainable(model).path))
    words = CollectionWords(WordCounts(), WordCounts())
    for document in documents:
        (words.held_out if is_held_out(document.id, held_out, seed) else words.learnt).add(document, split)
    return words


def extend_vocabulary(
    collection: CollectionWords,
    model: str,
    out: Path | str,
    *,
    words: int = VocabularySettings.words,
    at_least: int = VocabularySettings.at_least,
) -> VocabularyExtension:
    """Write a model's folder with the most frequent words of a collection that its vocabulary lacked.

    Words are chosen from the training documents of `train mlm`, so that its evaluation on the others is unbiased;
    the change in length is reported over all documents.
    """
    check_new_folder(out)
    folder = find_trainable(model)
    before, counts = plain_tokenizer(folder.path), collection.learnt.total()
    chosen = missing_words(counts, before, words, at_least)
    _check(chosen, counts, words, model)
    extended = extend_tokenizer(folder.path, chosen)
    made = VocabularyExtension(
        tuple(chosen),
        tuple(counts[word] for word in chosen),
        tuple(tuple(before.id_to_token(piece) for piece in extended.pieces[word]) for word in chosen),
        tuple(length_change(collection.learnt + collection.held_out, before, extended.tokenizer())),
    )
    with new_folder(out) as place:
        extend_model(folder, extended, place)
        with atomic_write(place / RECORD) as file:
            file.write(orjson.dumps({"model": folder.name, **made.record()}, option=orjson.OPT_INDENT_2))
    return made


def _check(chosen: Sequence[str], counts: dict[str, int], wanted: int, model: str) -> None:
    if not counts:
        raise RankwellError("documents: expected texts to take words from, found none")
    if not chosen:
        raise RankwellError(f"documents: expected frequent words that {model} breaks into pieces, found none")
    if len(chosen) < wanted:
        log.warning(
            "only %d words are frequent enough and not in the vocabulary; %d were asked for", len(chosen), wanted
        )


WORDPIECE = "WordPiece"
COPIED = ("tokenizer_config.json", "special_tokens_map.json")


@dataclass(frozen=True)
class ExtendedTokenizer:
    """A tokenizer's description with new words, and the former pieces of each."""

    description: dict[str, Any]
    ids: dict[str, int]
    pieces: dict[str, list[int]]

    @property
    def size(self) -> int:
        """Number of embeddings that a model needs."""
        added = (int(token["id"]) for token in self.description["added_tokens"])
        return 1 + int(max(*self.description["model"]["vocab"].values(), *added))

    def tokenizer(self) -> Any:
        """The tokenizer, without truncation and padding."""
        return _opened(self.description)

    def write(self, source: Path, out: Path) -> None:
        """Write `tokenizer.json`, `vocab.txt` and the small files that belong to them."""
        for name in COPIED:
            if (source / name).is_file():
                shutil.copyfile(source / name, out / name)
        with atomic_write(out / "tokenizer.json") as file:
            file.write(orjson.dumps(self.description, option=orjson.OPT_INDENT_2))
        by_id = sorted(self.description["model"]["vocab"].items(), key=lambda entry: entry[1])
        if [number for _, number in by_id] == list(range(len(by_id))):  # a plain list can say no more
            with atomic_write(out / "vocab.txt") as file:
                file.write("".join(f"{word}\n" for word, _ in by_id).encode())


def extend_tokenizer(folder: Path, words: Sequence[str]) -> ExtendedTokenizer:
    """The tokenizer of a model's folder with these words added at the end of its vocabulary."""
    description = wordpiece_description(folder)
    vocabulary = description["model"]["vocab"]
    new = [word for word in dict.fromkeys(words) if word not in vocabulary]
    old = _opened(description)
    encoded = old.encode_batch([[word] for word in new], is_pretokenized=True, add_special_tokens=False)
    first = old.get_vocab_size(with_added_tokens=True)
    ids = {word: first + number for number, word in enumerate(new)}
    extended = {**description, "model": {**description["model"], "vocab": {**vocabulary, **ids}}}
    return ExtendedTokenizer(extended, ids, {word: pieces.ids for word, pieces in zip(new, encoded, strict=True)})


def wordpiece_description(folder: Path) -> dict[str, Any]:
    """The content of `tokenizer.json`; refused where it is not WordPiece."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise RankwellError(f"{folder}: expected a file tokenizer.json in the model's folder, found none")
    try:
        description = orjson.loads(file.read_bytes())
        kind = description["model"].get("type", "a model without a type")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise RankwellError(f"{file}: expected a tokenizer, found something else") from error
    if kind != WORDPIECE:
        raise RankwellError(f"{file}: expected a WordPiece tokenizer, whose vocabulary can take words, found {kind}")
    return dict(description)


def plain_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model's folder, without truncation and padding."""
    return _opened(wordpiece_description(folder))


def _opened(description: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(orjson.dumps(description).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# Files of a folder that mark it as an encoder: an extended one stays an encoder.
SENTENCE_FILES = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
SENTENCE_FOLDERS = ("1_Pooling",)


def extend_model(folder: ModelFolder, words: ExtendedTokenizer, out: Path) -> None:
    """Write a folder with the model, its tokenizer and the new words; its head, if any, stays."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError(f"{folder.name}: new embeddings", extra="train") from error
    known = folder.architecture if hasattr(transformers, folder.architecture) else "AutoModel"
    model, _ = load_model(folder, getattr(transformers, known))
    extend_embeddings(model, words)
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    words.write(folder.path, out)
    for name in SENTENCE_FILES:
        if (folder.path / name).is_file():
            shutil.copyfile(folder.path / name, out / name)
    for name in SENTENCE_FOLDERS:
        if (folder.path / name).is_dir():
            shutil.copytree(folder.path / name, out / name, dirs_exist_ok=True)


def extend_embeddings(model: Any, words: ExtendedTokenizer) -> None:
    """Grow the embeddings (and the output bias of a masked-language-model head), and fill the new rows.

    A new word starts as the mean of its pieces, so that the model's output changes little; a word
    without pieces ([UNK]) starts as the embedding of [UNK].
    """
    import torch

    if words.size > model.get_input_embeddings().num_embeddings:  # some models have spare rows
        model.resize_token_embeddings(words.size, mean_resizing=False)
    head = model.get_output_embeddings()
    bias = getattr(head, "bias", None)
    with torch.no_grad():
        for table in _tables(model, head):
            for word, number in words.ids.items():
                table[number] = table[words.pieces[word]].mean(dim=0)
        if bias is not None:
            for word, number in words.ids.items():
                bias[number] = bias[words.pieces[word]].mean()


def _tables(model: Any, head: Any) -> list[Any]:
    """The input embeddings, and the output's where they are separate tensors."""
    table = model.get_input_embeddings().weight
    return [table] if head is None or head.weight is table else [table, head.weight]
